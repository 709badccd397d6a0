# SPDX-License-Identifier: Apache-2.0
"""The house rules that tools/tidy.py checks, one module per kind of rule."""
