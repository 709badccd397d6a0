-- SPDX-License-Identifier: Apache-2.0
-- Purpose: whom a new connection leads to, and whether it may be used.
-- Result:  one row (version, recovering, isolation, encoding, synchronous_commit,
--          synchronous_standby_names, the process that serves us)
SELECT current_setting('server_version_num')::integer, pg_is_in_recovery(),
       current_setting('default_transaction_isolation'), current_setting('server_encoding'),
       current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
       pg_backend_pid()
