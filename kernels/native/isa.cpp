// isa.cpp: compiled once per instruction set, with EVONET_ISA naming it.
#include "native/isa.h"

#include "native/evolution_kernels.h"
#include "native/fma_peak.h"
#include "native/forward.h"
#include "native/loss_rows.h"
#include "native/rollout_kernels.h"

#define EVONET_JOIN(a, b) a##b
#define EVONET_ISA_OBJECT(name) EVONET_JOIN(isa_, name)
#define EVONET_TEXT(name) #name
#define EVONET_NAME(name) EVONET_TEXT(name)

namespace evonet {

extern const Isa EVONET_ISA_OBJECT(EVONET_ISA);
const Isa EVONET_ISA_OBJECT(EVONET_ISA) = {
    EVONET_NAME(EVONET_ISA),
    {EVONET_ISA::kMaxWidth<float>, &EVONET_ISA::forward_genomes<float>,
     &EVONET_ISA::activate_rows<float>, &EVONET_ISA::aggregate_rows<float>,
     &EVONET_ISA::loss_rows<float>, EVONET_ISA::kEvolution<float>, EVONET_ISA::kRollout<float>},
    {EVONET_ISA::kMaxWidth<double>, &EVONET_ISA::forward_genomes<double>,
     &EVONET_ISA::activate_rows<double>, &EVONET_ISA::aggregate_rows<double>,
     &EVONET_ISA::loss_rows<double>, EVONET_ISA::kEvolution<double>, EVONET_ISA::kRollout<double>},
    &EVONET_ISA::spin_fma};

}  // namespace evonet
