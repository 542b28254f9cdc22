// tasks.h: all control tasks, in the order of evonet/controls.py.
#pragma once

#include "control/acrobot.h"
#include "control/cartpole.h"
#include "control/memory_tasks.h"
#include "control/mountain_car.h"
#include "control/pendulum.h"
#include "control/pole_balancing.h"

EVONET_NAMESPACE_BEGIN

using SinglePole = PoleBalancing<1, true>;
using SinglePoleNoSpeeds = PoleBalancing<1, false>;
using DoublePole = PoleBalancing<2, true>;
using DoublePoleNoSpeeds = PoleBalancing<2, false>;
using CopyBits = Copy<3>;

#define EVONET_EACH_CONTROL(X)                      \
  X(cartpole, CartPole)                             \
  X(mountain_car, MountainCar)                      \
  X(mountain_car_continuous, MountainCarContinuous) \
  X(pendulum, Pendulum)                             \
  X(acrobot, Acrobot)                               \
  X(single_pole, SinglePole)                        \
  X(single_pole_no_velocities, SinglePoleNoSpeeds)  \
  X(double_pole, DoublePole)                        \
  X(double_pole_no_velocities, DoublePoleNoSpeeds)  \
  X(copy, CopyBits)                                 \
  X(t_maze, TMaze)

EVONET_NAMESPACE_END
