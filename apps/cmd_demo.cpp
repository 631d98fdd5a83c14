#include "apps/commands.hpp"
namespace suf::apps { int RunDemo(const DemoArgs&) { return 1; } }
