/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU's interface for plugins (docs/devel/tcg-plugins.rst), as far as it is used, so that no header of a certain version of QEMU is
 * needed. API_VERSION chooses between the two forms of qemu_plugin_insn_data().
 */
#ifndef INTERFACE_H
#define INTERFACE_H

#include <stddef.h>
#include <stdint.h>

#ifndef API_VERSION
#define API_VERSION 1
#endif

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void (*on_translated_t)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*on_executed_t)(unsigned int cpu, void *userdata);
typedef void (*on_end_t)(qemu_plugin_id_t, void *userdata);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, on_translated_t);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, on_executed_t, int flags, void *userdata);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, on_end_t, void *userdata);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t index);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
#if API_VERSION < 3
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
#else
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *, void *to, size_t length);
#endif

#endif
