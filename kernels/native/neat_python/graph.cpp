#include "native/neat_python/graph.h"

#include <algorithm>
#include <stdexcept>

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
  GraphMaker(const std::vector<NeatConnectionGene>& connections, bool enabled_only,
             const std::vector<int64_t>& inputs, const std::vector<int64_t>& outputs,
             KeyNumbers& numbers)
      : num_inputs_(static_cast<int32_t>(inputs.size())), numbers_(numbers) {
    for (int64_t key : inputs) numbers(key);
    if (numbers.size() != num_inputs_) throw std::invalid_argument("an input appears twice");
    for (int64_t key : outputs) graph_.output.push_back(numbers(key));
    links_.reserve(connections.size());
    for (const NeatConnectionGene& gene : connections) {
      if (enabled_only && !gene.enabled) continue;
      const int32_t source = numbers(gene.source), target = numbers(gene.target);
      links_.push_back({source, target, gene.enabled, gene.weight});
    }
  }

  void feed_forward() {
    const InLinks in(links_, numbers_.size(), [](const Link&) { return true; });
    for (int32_t node : order_by_level(in)) add_node(node, in);
  }

  void recurrent() {
    const std::vector<char> required = find_required();
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
    const std::vector<char> required = find_required();
    const auto is_kept = [&](const Link& l) {
      return l.enabled && required[l.target] && (required[l.source] || is_input(l.source));
    };
    const InLinks in(links_, numbers_.size(), is_kept);
    for (int32_t node = 0; node < numbers_.size(); ++node) {
      if (required[node]) add_node(node, in);
    }
  }

  NeatGraph take() { return std::move(graph_); }

 private:
  bool is_input(int32_t number) const { return number < num_inputs_; }

  // What outputs depend on by links of any kind, and the outputs themselves.
  std::vector<char> find_required() const {
    const InLinks in(links_, numbers_.size(), [](const Link&) { return true; });
    std::vector<char> required(numbers_.size());
    std::vector<int32_t> open = graph_.output;
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

  // The nodes that outputs depend on, by (longest path from an input, key); nodes without links
  // come first. One walk against the links finds them: a node that reads one which is still open
  // lies on a cycle, and such nodes and all that read them are left out, as they never become
  // ready.
  std::vector<int32_t> order_by_level(const InLinks& in) const {
    enum State : char { kUnseen, kOpen, kDone, kCyclic };
    struct Ordered {
      int32_t level;
      int64_t key;
      int32_t node;
    };
    const int32_t count = numbers_.size();
    std::vector<char> state(count);
    std::vector<int32_t> level(count), next(in.start.begin(), in.start.end() - 1), path;
    std::vector<Ordered> found;
    for (int32_t output : graph_.output) {
      if (state[output] == kUnseen && !is_input(output)) {
        state[output] = kOpen;
        path.push_back(output);
      }
      while (!path.empty()) {
        const int32_t node = path.back();
        bool descends = false;
        for (int32_t& i = next[node]; i < in.start[node + 1] && !descends; ++i) {
          const int32_t source = links_[in.link[i]].source;
          if (is_input(source)) {
            level[node] = std::max(level[node], 1);
          } else if (state[source] == kUnseen) {
            state[source] = kOpen;
            path.push_back(source);
            descends = true;
            --i;  // to be looked at again when it is done
          } else if (state[source] == kDone) {
            level[node] = std::max(level[node], level[source] + 1);
          } else {
            state[node] = kCyclic;
          }
        }
        if (descends) continue;
        path.pop_back();
        if (state[node] == kOpen) {
          state[node] = kDone;
          found.push_back({level[node], numbers_.keys()[node], node});
        }
      }
    }
    std::sort(found.begin(), found.end(), [](const Ordered& a, const Ordered& b) {
      return a.level != b.level ? a.level < b.level : a.key < b.key;
    });
    std::vector<int32_t> order;
    order.reserve(found.size());
    for (const Ordered& node : found) order.push_back(node.node);
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

  int32_t num_inputs_;
  KeyNumbers& numbers_;
  std::vector<Link> links_;
  NeatGraph graph_;
};

}  // namespace

NeatGraph make_graph(NeatKind kind, const std::vector<NeatConnectionGene>& connections,
                     const std::vector<int64_t>& inputs, const std::vector<int64_t>& outputs,
                     KeyNumbers& numbers) {
  GraphMaker maker(connections, kind == NeatKind::kFeedForward, inputs, outputs, numbers);
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
