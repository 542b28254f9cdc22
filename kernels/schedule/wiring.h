// wiring.h: how genomes become schedules.
// Not in a namespace per instruction set: these types cross from one translation unit to another.
#pragma once

namespace evonet {

// When a link acts. kLevels: within the step, and cycles are never evaluated. kNextStep: one step
// later, so all nodes are on one level. kSameStep: within the step, except for the links that the
// walk over levels finds to close a cycle. kSpikes is kNextStep for neurons: their nodes only add
// up currents, whatever functions the genes name.
enum Wiring : int { kLevels, kNextStep, kSameStep, kSpikes };

struct CompileOptions {
  Wiring wiring;
  int num_states;    // what a node remembers, as slots
  bool reuse_slots;  // by lifetime; networks with memory keep all values whatever this says
};

}  // namespace evonet
