// SPDX-License-Identifier: Apache-2.0
#include "proto/target_diff.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_split.h"
#include "proto/program_facts.h"

namespace kiln {
namespace {

// A field that is a comma-separated list, and what one element of it is.
struct ListField {
  std::string_view field;
  std::string_view kind;
  std::string_view prefix;  // of the element's name
};

constexpr ListField kListFields[] = {
    {"features", "device feature", ""},
    {"extensions", "device extension", ""},
    {"layers", "driver", "layer "},
};

const ListField* FindList(std::string_view field) {
  for (const ListField& list : kListFields) {
    if (list.field == field) {
      return &list;
    }
  }
  return nullptr;
}

std::set<std::string> Elements(const std::string& list) {
  return absl::StrSplit(list, ',', absl::SkipEmpty());
}

void DiffLists(const ListField& list, const std::string& stored,
               const std::string& asked, std::vector<Difference>& out) {
  const std::set<std::string> before = Elements(stored);
  const std::set<std::string> now = Elements(asked);
  std::set<std::string> all = before;
  all.insert(now.begin(), now.end());
  for (const std::string& element : all) {
    if (before.contains(element) != now.contains(element)) {
      out.push_back(
          {std::string(list.kind),
           std::string(list.prefix) + OneLine(element, kDifferenceBytes - 10),
           before.contains(element) ? "enabled" : "",
           now.contains(element) ? "enabled" : ""});
    }
  }
}

}  // namespace

std::vector<Difference> DiffTargets(const TargetIdentity& stored,
                                    const TargetIdentity& asked) {
  std::map<std::string, std::pair<std::string, std::string>> values;
  for (const IdentityField& field : stored.fields) {
    values[field.name].first = field.value;
  }
  for (const IdentityField& field : asked.fields) {
    values[field.name].second = field.value;
  }
  std::vector<Difference> fields;
  std::vector<Difference> elements;
  for (const auto& [name, value] : values) {
    if (value.first == value.second) {
      continue;
    }
    if (const ListField* list = FindList(name); list != nullptr) {
      DiffLists(*list, value.first, value.second, elements);
    } else {
      fields.push_back({"driver", OneLine(name, kDifferenceBytes),
                        OneLine(value.first, kDifferenceBytes),
                        OneLine(value.second, kDifferenceBytes)});
    }
  }
  fields.insert(fields.end(), elements.begin(), elements.end());
  if (fields.empty() && stored.Id() != asked.Id()) {
    // The same facts, written otherwise: an order, or an empty field.
    fields.push_back(
        {"driver", "identity", stored.Id().ShortHex(), asked.Id().ShortHex()});
  }
  return fields;
}

}  // namespace kiln
