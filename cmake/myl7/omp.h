// The only function of OpenMP in the headers of myl7/fss, for compilers without OpenMP. Only evaluations of full
// domains call it, and the adapter has none.
#pragma once
inline int omp_get_max_threads() { return 1; }
