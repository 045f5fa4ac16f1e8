import { OP } from '../../../src/evm/opcodes.ts'
import { createCodeWriter, createLabel } from '../codeWriter.ts'
import type { FuzzCase } from '../fuzzCase.ts'
import { messageTo, pickFork } from '../messages.ts'
import { bystanders, CONTRACTS, contractAccount } from '../population.ts'
import type { Random } from '../random.ts'

type Writer = ReturnType<typeof createCodeWriter>

const FAR_APART = ((1n << 160n) - 1n) / 7n

/**
 * Loops over hundreds of slots and accounts, some of them in frames that revert, so that the engine's tables grow. A lost or wrong value
 * changes the sum that is returned at the end.
 */
export function manyKeysCase(random: Random): Omit<FuzzCase, 'isSliced'> {
  const accounts = bystanders(random)
  for (const address of CONTRACTS.slice(0, 2)) accounts.push(contractAccount(address, codeOf(random), random))
  const gasLimit = BigInt(random.between(200_000, 3_000_000))
  const message = { ...messageTo(random, CONTRACTS[0]!), data: new Uint8Array(0), gasLimit }
  return { kind: 'many', fork: pickFork(random), accounts, messages: [message] }
}

/** Without calldata: loops, a call of itself or the other, loops again. With some: loops, and any end. */
function codeOf(random: Random): Uint8Array {
  const writer = createCodeWriter()
  const inner = createLabel()
  // the sum stays below the loops' counters
  writer.op(OP.PUSH0, OP.CALLDATASIZE)
  writer.pushLabel(inner)
  writer.op(OP.JUMPI)
  loops(random, writer)
  enter(random, writer)
  loops(random, writer)
  writer.op(OP.GAS, OP.PUSH1, 32, OP.MSTORE, OP.PUSH0, OP.MSTORE, OP.PUSH1, 64, OP.PUSH0, OP.RETURN)
  writer.mark(inner)
  loops(random, writer)
  writer.op(OP.PUSH0, OP.MSTORE, OP.PUSH1, 32, OP.PUSH0, random.pick([OP.REVERT, OP.REVERT, OP.RETURN, OP.INVALID]))
  return writer.finish()
}

function loops(random: Random, writer: Writer): void {
  for (let count = random.between(1, 2); count > 0; count--) loop(random, writer)
}

/** Adds up what an opcode gives, or writes, for many keys. */
function loop(random: Random, writer: Writer): void {
  const opcode = random.pick([
    OP.SLOAD,
    OP.SLOAD,
    OP.TLOAD,
    OP.TSTORE,
    OP.TSTORE,
    OP.SSTORE,
    OP.BALANCE,
    OP.EXTCODEHASH,
  ])
  const times = BigInt(opcode === OP.SSTORE ? random.between(1, 60) : random.between(1, 300))
  const begin = createLabel()
  writer.push(times)
  writer.mark(begin)
  // stack: counter, sum
  if (opcode === OP.TSTORE || opcode === OP.SSTORE) {
    // the value is the key, or what follows from it
    key(random, writer)
    writer.op(OP.DUP1)
    if (random.oneIn(3)) writer.op(OP.PUSH0, OP.SLOAD, OP.ADD)
    writer.op(OP.SWAP1, opcode)
  } else {
    key(random, writer)
    writer.op(opcode, OP.SWAP1 + 1, OP.PUSH1, 3, OP.MUL, OP.ADD, OP.SWAP1)
  }
  writer.op(OP.PUSH1, 1, OP.SWAP1, OP.SUB, OP.DUP1)
  writer.pushLabel(begin)
  writer.op(OP.JUMPI, OP.POP)
}

/** A key from the counter on top of the stack: in a row, far apart, alike in their low bytes, or hashed. */
function key(random: Random, writer: Writer): void {
  writer.op(OP.DUP1)
  const spread = random.below(4)
  if (spread === 1) {
    writer.push(FAR_APART)
    writer.op(OP.MUL)
  } else if (spread === 2) {
    writer.push(BigInt(random.pick([64, 128, 248])))
    writer.op(OP.SHL)
  } else if (spread === 3) {
    writer.op(OP.PUSH0, OP.MSTORE, OP.PUSH1, 32, OP.PUSH0, OP.KECCAK256)
  }
}

function enter(random: Random, writer: Writer): void {
  const kind = random.pick([OP.CALL, OP.DELEGATECALL, OP.STATICCALL])
  writer.op(OP.PUSH0, OP.PUSH0, OP.PUSH1, 1, OP.PUSH0)
  if (kind === OP.CALL) writer.op(OP.PUSH0)
  if (random.oneIn(2)) writer.op(OP.ADDRESS)
  else writer.push(BigInt(`0x${Buffer.from(CONTRACTS[1]!).toString('hex')}`))
  writer.op(OP.GAS, kind, OP.ADD)
}
