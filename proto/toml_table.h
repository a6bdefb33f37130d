// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reading TOML strictly: every key that is not understood, and every value of
// the wrong type, is a fault with its line. Internal to proto/: it drags in
// toml++, a large header.

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "absl/status/status.h"
#include "proto/text.h"

namespace kiln {

// Reads one TOML table into fields, remembering the first fault. Thread-
// compatible; must not outlive the table and the status. A key nobody
// asked for is a fault too: a typo must not silently do nothing.
class TableReader {
 public:
  TableReader(const toml::table& table, std::string where, absl::Status& status)
      : table_(table), where_(std::move(where)), status_(status) {}

  void Keys(std::initializer_list<std::string_view> known) {
    for (const auto& [key, node] : table_) {
      if (std::ranges::find(known, key.str()) == known.end()) {
        Fail(node, fmt::format("unknown key '{}'", ToValidUtf8(key.str())));
      }
    }
  }

  std::string Text(std::string_view key, bool required = true,
                   std::string fallback = "") {
    const toml::node* node = Find(key, required);
    if (node == nullptr) {
      return fallback;
    }
    if (auto value = node->value_exact<std::string>()) {
      return *value;
    }
    Fail(*node, fmt::format("'{}' is not a string", key));
    return fallback;
  }

  uint32_t U32(std::string_view key, bool required = true,
               uint32_t fallback = 0) {
    const toml::node* node = Find(key, required);
    if (node == nullptr) {
      return fallback;
    }
    const auto value = node->value_exact<int64_t>();
    if (!value || *value < 0 || *value > UINT32_MAX) {
      Fail(*node, fmt::format("'{}' is not an unsigned 32-bit number", key));
      return fallback;
    }
    return static_cast<uint32_t>(*value);
  }

  bool Bool(std::string_view key, bool fallback) {
    const toml::node* node = Find(key, false);
    return node == nullptr ? fallback : node->value_or(fallback);
  }

  bool Has(std::string_view key) const { return table_.contains(key); }

  // Null where there is no such key.
  const toml::node* Node(std::string_view key) const { return table_.get(key); }

  // Calls `each(node)` for every element of the list `key`, if it is there.
  template <typename Each>
  void Values(std::string_view key, Each each) {
    const toml::node* node = Find(key, false);
    const toml::array* array = node == nullptr ? nullptr : node->as_array();
    if (array == nullptr) {
      if (node != nullptr) {
        Fail(*node, fmt::format("'{}' is not a list", key));
      }
      return;
    }
    for (const toml::node& element : *array) {
      each(element);
    }
  }

  std::vector<std::string> Texts(std::string_view key, bool required) {
    std::vector<std::string> texts;
    const toml::node* node = Find(key, required);
    if (node == nullptr) {
      return texts;
    }
    const toml::array* array = node->as_array();
    if (array == nullptr) {
      Fail(*node, fmt::format("'{}' is not a list of strings", key));
      return texts;
    }
    for (const toml::node& element : *array) {
      if (auto value = element.value_exact<std::string>()) {
        texts.push_back(*value);
      } else {
        Fail(element,
             fmt::format("'{}' holds something that is not a string", key));
      }
    }
    return texts;
  }

  // Calls `each(reader)` for every table of the array of tables `key`.
  template <typename Each>
  void Tables(std::string_view key, Each each) {
    const toml::node* node = Find(key, false);
    if (node == nullptr) {
      return;
    }
    const toml::array* array = node->as_array();
    if (array == nullptr) {
      Fail(*node, fmt::format("'{}' is not an array of tables", key));
      return;
    }
    for (const toml::node& element : *array) {
      if (const toml::table* table = element.as_table()) {
        TableReader reader(
            *table, fmt::format("{}[{}]", key, element.source().begin.line),
            status_);
        each(reader);
      } else {
        Fail(element,
             fmt::format("'{}' holds something that is not a table", key));
      }
    }
  }

  // Calls `each(reader)` for the table `key`, if it is there.
  template <typename Each>
  void Table(std::string_view key, bool required, Each each) {
    const toml::node* node = Find(key, required);
    if (node == nullptr) {
      return;
    }
    if (const toml::table* table = node->as_table()) {
      TableReader reader(*table, std::string(key), status_);
      each(reader);
    } else {
      Fail(*node, fmt::format("'{}' is not a table", key));
    }
  }

  // Calls `each(key, node)` for every entry.
  template <typename Each>
  void Entries(Each each) {
    for (const auto& [key, node] : table_) {
      each(std::string(key.str()), node);
    }
  }

  // A fault of the table as a whole.
  void FailHere(std::string_view why) { Fail(table_, why); }

  void Fail(const toml::node& node, std::string_view why) {
    if (status_.ok()) {
      status_ = absl::InvalidArgumentError(fmt::format(
          "line {}: [{}] {}", node.source().begin.line, where_, why));
    }
  }

 private:
  const toml::node* Find(std::string_view key, bool required) {
    const toml::node* node = table_.get(key);
    if (node == nullptr && required) {
      Fail(table_, fmt::format("'{}' is missing", key));
    }
    return node;
  }

  const toml::table& table_;
  std::string where_;
  absl::Status& status_;
};

}  // namespace kiln
