// function_ids.h: the ids of functions.def, for code that needs no formula.
#pragma once

#include "numerics/portable.h"

EVONET_NAMESPACE_BEGIN

enum Activation : unsigned char {
#define EVONET_ACTIVATION(ID, name, formula) ACT_##ID,
#include "nodes/functions.def"
  NUM_ACTIVATIONS
};

enum Aggregation : unsigned char {
#define EVONET_AGGREGATION(ID, name, formula) AGG_##ID,
#include "nodes/functions.def"
  NUM_AGGREGATIONS
};

enum Loss : unsigned char {
#define EVONET_LOSS(ID, name, formula) LOSS_##ID,
#include "nodes/functions.def"
  NUM_LOSSES
};

EVONET_NAMESPACE_END
