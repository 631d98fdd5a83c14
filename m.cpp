#include "suf/base/bytes.hpp"
#include <chrono>
#include <cstdio>
namespace suf { void AppendO3(Bytes*, View); }
using namespace suf;
int main(){ std::vector<uint8_t> src(1<<20,7); for(int r=0;r<3;++r) for(int k=0;k<2;++k){ auto t=std::chrono::steady_clock::now(); { Bytes b; b.reserve(200u<<20); auto t1=std::chrono::steady_clock::now(); for(int i=0;i<200;++i) k?AppendO3(&b,src):Append(&b,src); auto t2=std::chrono::steady_clock::now(); printf("%s %.1f ms/200MB\n",k?"O3 insert":"Append",std::chrono::duration<double>(t2-t1).count()*1e3);} } }
