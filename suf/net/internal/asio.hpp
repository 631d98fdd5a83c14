// Asio without Boost, and its error category for OpenSSL; for .cpp files of net only.
#pragma once
#define ASIO_STANDALONE
#define ASIO_NO_DEPRECATED
#if defined(__SANITIZE_THREAD__)
#define ASIO_DISABLE_FENCED_BLOCK
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ASIO_DISABLE_FENCED_BLOCK
#endif
#endif
#include <asio.hpp>
#include <asio/ssl/error.hpp>
