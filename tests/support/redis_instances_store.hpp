// SPDX-License-Identifier: Apache-2.0
#pragma once
// The register of instances of a Redis as a store for the contract tests: their names are names of
// instances, and their records those of instances. On a single server for the user of acl.example.

#include "contracts/instance_names.hpp"
#include "support/redis_stores.hpp"

#include <string>
#include <vector>

namespace holt::test {

template <class Store>
class InstancesOf final : public Store {
 public:
  using Store::Store;
  [[nodiscard]] std::string names_start() const override { return std::string(name_lease_start); }
  [[nodiscard]] std::string records_start() const override {
    return std::string(instance_record_start);
  }
  [[nodiscard]] std::string usual_instance() const override { return std::string(register_scope); }
};

using RedisInstancesTestStore = InstancesOf<RedisAclTestStore>;
using RedisClusterInstancesTestStore = InstancesOf<RedisClusterTestStore>;

[[nodiscard]] inline std::vector<Exclusion> not_in_redis_instances() {
  return {{"RecordValues.KeysHave1To512Bytes", "the keys of tests are longer by instance/"}};
}

}  // namespace holt::test
