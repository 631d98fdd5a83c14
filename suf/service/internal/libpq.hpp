// libpq, loaded when a database is named first. It would bring 20 further libraries into every process, and the Python
// package is without it.
#pragma once
#include <libpq-fe.h>

namespace suf::service {

// The functions that we call.
struct LibPq {
#define SUF_LIBPQ(F)                                                                                                \
  F(PQclear)                                                                                                        \
  F(PQconndefaults) F(PQconnectPoll) F(PQconnectStartParams) F(PQconninfoFree) F(PQconninfoParse) F(PQconsumeInput) \
      F(PQerrorMessage) F(PQfinish) F(PQflush) F(PQfreemem) F(PQgetResult) F(PQgetvalue) F(PQisBusy) F(PQnfields)   \
          F(PQntuples) F(PQresultErrorField) F(PQresultStatus) F(PQsendQuery) F(PQsendQueryParams)                  \
              F(PQsetErrorVerbosity) F(PQsetNoticeReceiver) F(PQsetnonblocking) F(PQsocket) F(PQsslInUse) F(PQstatus)
#define SUF_LIBPQ_MEMBER(name) decltype(&::name) name;
  SUF_LIBPQ(SUF_LIBPQ_MEMBER)
#undef SUF_LIBPQ_MEMBER
};

// Returns libpq. Throws Cause::kResource if this machine lacks it.
const LibPq& Pq();

}  // namespace suf::service
