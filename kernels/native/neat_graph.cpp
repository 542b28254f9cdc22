#include "native/neat_graph.h"

#include <algorithm>

namespace evonet {

namespace {

struct Link {
  int32_t source, target;
  bool enabled;
  double weight;  // 0 if it is disabled
};

// Links grouped by target, those of a target in the genome's order.
struct InLinks {
  std::vector<int32_t> start, link;

  template <class Wanted>
  InLinks(const std::vector<Link>& links, int32_t num_keys, Wanted wanted) : start(num_keys + 1) {
    for (const Link& l : links) start[l.target + 1] += wanted(l);
    for (int32_t i = 0; i < num_keys; ++i) start[i + 1] += start[i];
    link.resize(start[num_keys]);
    std::vector<int32_t> next(start.begin(), start.end() - 1);
    for (size_t i = 0; i < links.size(); ++i) {
      if (wanted(links[i])) link[next[links[i].target]++] = static_cast<int32_t>(i);
    }
  }

  template <class Visit>
  void each(int32_t target, Visit visit) const {
    for (int32_t i = start[target]; i < start[target + 1]; ++i) visit(link[i]);
  }

  int32_t count(int32_t target) const { return start[target + 1] - start[target]; }
};

class GraphMaker {
 public:
  GraphMaker(const std::vector<NeatConnectionGene>& connections, const std::vector<int64_t>& inputs,
             const std::vector<int64_t>& outputs)
      : numbers_(connections.size() / 2 + inputs.size() + outputs.size()),
        num_inputs_(static_cast<int32_t>(inputs.size())) {
    for (int64_t key : inputs) numbers_(key);
    for (int64_t key : outputs) outputs_.push_back(numbers_(key));
    links_.reserve(connections.size());
    for (const NeatConnectionGene& gene : connections) {
      const int32_t source = numbers_(gene.source), target = numbers_(gene.target);
      links_.push_back({source, target, gene.enabled, gene.weight});
    }
  }

  void feed_forward() {
    const auto is_enabled = [](const Link& l) { return l.enabled; };
    const InLinks in(links_, numbers_.size(), is_enabled);
    const std::vector<char> required = find_required(in);
    const std::vector<int32_t> order = order_by_level(in, required);
    for (int32_t node : order) add_node(node, in);
  }

  void recurrent() {
    const std::vector<char> required = find_required_by_all();
    const auto is_kept = [&](const Link& l) {
      return l.enabled && (required[l.target] || required[l.source]);
    };
    const InLinks in(links_, numbers_.size(), is_kept);
    std::vector<char> added(numbers_.size());
    for (const Link& l : links_) {
      if (is_kept(l) && !added[l.target]) {
        added[l.target] = true;
        add_node(l.target, in);
      }
    }
  }

  void spiking() {
    const std::vector<char> required = find_required_by_all();
    const auto is_kept = [&](const Link& l) {
      return l.enabled && required[l.target] && (required[l.source] || is_input(l.source));
    };
    const InLinks in(links_, numbers_.size(), is_kept);
    for (int32_t node = 0; node < numbers_.size(); ++node) {
      if (required[node]) add_node(node, in);
    }
  }

  NeatGraph take() {
    graph_.key = numbers_.keys();
    graph_.output = outputs_;
    return std::move(graph_);
  }

 private:
  bool is_input(int32_t number) const { return number < num_inputs_; }

  std::vector<char> find_required_by_all() const {
    return find_required(InLinks(links_, numbers_.size(), [](const Link&) { return true; }));
  }

  // What outputs depend on, and the outputs themselves.
  std::vector<char> find_required(const InLinks& in) const {
    std::vector<char> required(numbers_.size());
    std::vector<int32_t> open = outputs_;
    for (int32_t node : open) required[node] = true;
    while (!open.empty()) {
      const int32_t node = open.back();
      open.pop_back();
      in.each(node, [&](int32_t i) {
        const int32_t source = links_[i].source;
        if (!is_input(source) && !required[source]) {
          required[source] = true;
          open.push_back(source);
        }
      });
    }
    return required;
  }

  // Required nodes by (longest path from an input, key). Those on or behind a cycle never become
  // ready and are left out; nodes without links come first.
  std::vector<int32_t> order_by_level(const InLinks& in, const std::vector<char>& required) const {
    const int32_t count = numbers_.size();
    std::vector<int32_t> waiting(count), level(count), order;
    std::vector<int32_t> out_start(count + 1), out;
    for (int32_t node = 0; node < count; ++node) {
      if (!required[node]) continue;
      in.each(node, [&](int32_t i) {
        if (!is_input(links_[i].source)) ++waiting[node], ++out_start[links_[i].source + 1];
      });
      level[node] = in.count(node) > 0;
      if (waiting[node] == 0) order.push_back(node);
    }
    for (int32_t i = 0; i < count; ++i) out_start[i + 1] += out_start[i];
    out.resize(out_start[count]);
    std::vector<int32_t> next(out_start.begin(), out_start.end() - 1);
    for (int32_t node = 0; node < count; ++node) {
      if (!required[node]) continue;
      in.each(node, [&](int32_t i) {
        const int32_t source = links_[i].source;
        if (!is_input(source)) out[next[source]++] = node;
      });
    }
    for (size_t i = 0; i < order.size(); ++i) {
      const int32_t source = order[i];
      for (int32_t j = out_start[source]; j < out_start[source + 1]; ++j) {
        level[out[j]] = std::max(level[out[j]], level[source] + 1);
        if (--waiting[out[j]] == 0) order.push_back(out[j]);
      }
    }
    std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return level[a] != level[b] ? level[a] < level[b] : numbers_.keys()[a] < numbers_.keys()[b];
    });
    return order;
  }

  void add_node(int32_t node, const InLinks& in) {
    const auto begin = static_cast<int32_t>(graph_.link_source.size());
    in.each(node, [&](int32_t i) {
      graph_.link_source.push_back(links_[i].source);
      graph_.link_weight.push_back(links_[i].weight);
    });
    const auto end = static_cast<int32_t>(graph_.link_source.size());
    graph_.nodes.push_back({node, begin, end});
  }

  KeyNumbers numbers_;
  int32_t num_inputs_;
  std::vector<int32_t> outputs_;
  std::vector<Link> links_;
  NeatGraph graph_;
};

}  // namespace

NeatGraph make_graph(NeatKind kind, const std::vector<NeatConnectionGene>& connections,
                     const std::vector<int64_t>& inputs, const std::vector<int64_t>& outputs) {
  GraphMaker maker(connections, inputs, outputs);
  switch (kind) {
    case NeatKind::kFeedForward:
      maker.feed_forward();
      break;
    case NeatKind::kRecurrent:
      maker.recurrent();
      break;
    case NeatKind::kSpiking:
      maker.spiking();
      break;
  }
  return maker.take();
}

}  // namespace evonet
