// gene_buffers.h: the arrays of a population that is being made.
#pragma once

#include "genetics/genome_view.h"
#include "native/buffer.h"

namespace evonet {

template <class T>
struct GeneBuffers {
  Buffer<long long> node_key;
  Buffer<T> bias, response;
  Buffer<uint8_t> activation, aggregation;
  Buffer<T> time_constant;
  Buffer<long long> innovation, source, target;
  Buffer<T> weight;
  Buffer<bool> enabled;

  GeneBuffers() = default;
  GeneBuffers(int64_t nodes, int64_t conns)
      : node_key(nodes),
        bias(nodes),
        response(nodes),
        activation(nodes),
        aggregation(nodes),
        time_constant(nodes),
        innovation(conns),
        source(conns),
        target(conns),
        weight(conns),
        enabled(conns) {}

  Genes<T> genes() {
    return {node_key.data.get(),   bias.data.get(),        response.data.get(),
            activation.data.get(), aggregation.data.get(), time_constant.data.get(),
            innovation.data.get(), source.data.get(),      target.data.get(),
            weight.data.get(),     enabled.data.get()};
  }

  // Copies the first `nodes` nodes and `conns` connections of another to the given positions.
  void copy(int64_t node, int64_t conn, const GeneBuffers& from, int64_t nodes, int64_t conns) {
    copy_into(node_key, node, from.node_key, nodes);
    copy_into(bias, node, from.bias, nodes);
    copy_into(response, node, from.response, nodes);
    copy_into(activation, node, from.activation, nodes);
    copy_into(aggregation, node, from.aggregation, nodes);
    copy_into(time_constant, node, from.time_constant, nodes);
    copy_into(innovation, conn, from.innovation, conns);
    copy_into(source, conn, from.source, conns);
    copy_into(target, conn, from.target, conns);
    copy_into(weight, conn, from.weight, conns);
    copy_into(enabled, conn, from.enabled, conns);
  }
};

}  // namespace evonet
