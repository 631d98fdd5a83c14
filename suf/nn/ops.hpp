// The operators that come with the library.
#pragma once
#include "suf/nn/ops/activation.hpp"
#include "suf/nn/ops/attention.hpp"
#include "suf/nn/ops/lookup.hpp"
#include "suf/nn/ops/map.hpp"
#include "suf/nn/ops/norm.hpp"
#include "suf/nn/ops/rescale.hpp"
#include "suf/nn/ops/residual.hpp"
