// What the headers of myl7/fss ask of OpenMP, for compilers that come without it. Only their full domains call it, and
// the adapter evaluates none.
#pragma once
inline int omp_get_max_threads() { return 1; }
