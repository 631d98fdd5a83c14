#include "apps/program.hpp"

int main(int argc, char** argv) { return suf::apps::RunProgram(argc, argv); }
