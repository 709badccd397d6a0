// SPDX-License-Identifier: Apache-2.0
#pragma once
// All of Holt that needs nothing but the standard library: the blocking API.

#include <holt/capabilities.hpp>
#include <holt/clock.hpp>
#include <holt/diagnosis.hpp>
#include <holt/duration.hpp>
#include <holt/election.hpp>
#include <holt/error.hpp>
#include <holt/fence.hpp>
#include <holt/instance.hpp>
#include <holt/lease.hpp>
#include <holt/lock.hpp>
#include <holt/log.hpp>
#include <holt/metrics.hpp>
#include <holt/migration.hpp>
#include <holt/name.hpp>
#include <holt/observer.hpp>
#include <holt/once.hpp>
#include <holt/open.hpp>
#include <holt/polling.hpp>
#include <holt/queue.hpp>
#include <holt/retry.hpp>
#include <holt/task.hpp>
#include <holt/watch.hpp>
