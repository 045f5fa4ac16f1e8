import { OP } from '../../../src/evm/opcodes.ts'
import { createCodeWriter, createLabel } from '../codeWriter.ts'
import type { FuzzCase } from '../fuzzCase.ts'
import { messageTo, pickFork } from '../messages.ts'
import { bystanders, CONTRACTS, contractAccount } from '../population.ts'
import type { Random } from '../random.ts'

type Writer = ReturnType<typeof createCodeWriter>

const IDENTITY = 4n
/** Longest deployed code (EIP-170). */
const MAX_CODE = 24_576

/**
 * Contracts that call one another a few levels deep with memories of many kilobytes: calldata that lies in the memory of a caller while
 * the callee's grows, return data of any length, codes of the greatest length.
 */
export function largeMemoryCase(random: Random): Omit<FuzzCase, 'isSliced'> {
  const accounts = bystanders(random)
  for (const address of CONTRACTS.slice(0, 3)) accounts.push(contractAccount(address, codeOf(random), random))
  const message = { ...messageTo(random, CONTRACTS[0]!), gasLimit: BigInt(random.between(300_000, 12_000_000)) }
  return { kind: 'large', fork: pickFork(random), accounts, messages: [message] }
}

function codeOf(random: Random): Uint8Array {
  const writer = createCodeWriter()
  const end = createLabel()
  // deeper calls have more calldata; from a length on they only answer
  writer.push(BigInt(random.pick([100, 4_000, 60_000, 200_000])))
  writer.op(OP.CALLDATASIZE, OP.GT)
  writer.pushLabel(end)
  writer.op(OP.JUMPI)
  for (let count = random.between(1, 3); count > 0; count--) {
    touchMemory(random, writer)
    call(random, writer)
    if (random.oneIn(2)) lookAtInput(random, writer)
    if (random.oneIn(2)) copyReturned(random, writer)
  }
  if (random.oneIn(4)) {
    // the rest lies after as much data as fits
    const far = createLabel()
    writer.pushLabel(far)
    writer.op(OP.JUMP)
    for (let left = MAX_CODE - 400 - writer.length(); left > 0; left--) {
      writer.op(random.oneIn(3) ? OP.PUSH32 : OP.JUMPDEST)
    }
    // operands of a PUSH32 hide no JUMPDEST after them
    for (let i = 0; i < 32; i++) writer.op(OP.STOP)
    writer.mark(far)
  }
  writer.mark(end)
  touchMemory(random, writer)
  lookAtInput(random, writer)
  answer(random, writer)
  return writer.finish()
}

/** Bytes: some of one page, some of many. */
function size(random: Random): bigint {
  return BigInt(random.pick([0, 32, 1_000, 8_192, 40_000, 70_000, 130_000, 262_144, 400_000]) + random.below(64))
}

function touchMemory(random: Random, writer: Writer): void {
  writer.op(OP.GAS)
  writer.push(size(random))
  writer.op(random.oneIn(3) ? OP.MSTORE8 : OP.MSTORE)
  if (random.oneIn(3)) {
    for (const extent of [size(random) / 4n, size(random), size(random)]) writer.push(extent)
    writer.op(random.pick([OP.MCOPY, OP.CODECOPY, OP.CALLDATACOPY]))
  }
}

function call(random: Random, writer: Writer): void {
  const kind = random.pick([OP.CALL, OP.CALL, OP.STATICCALL, OP.DELEGATECALL, OP.CALLCODE, OP.CREATE])
  if (kind === OP.CREATE) {
    writer.push(BigInt(random.below(3_000)))
    writer.push(size(random) / 2n)
    writer.op(OP.PUSH0, kind)
    return
  }
  const isIdentity = random.oneIn(4)
  // the return data may overwrite the input
  writer.push(random.oneIn(2) ? size(random) : 0n)
  writer.push(random.oneIn(2) ? size(random) : 0n)
  writer.push(BigInt(random.between(0, 3_000)))
  if (!isIdentity && random.oneIn(2)) writer.op(OP.CALLDATASIZE, OP.ADD)
  writer.push(size(random) / 3n)
  if (kind === OP.CALL || kind === OP.CALLCODE) writer.op(OP.PUSH0)
  writer.push(isIdentity ? IDENTITY : BigInt(`0x${Buffer.from(random.pick(CONTRACTS.slice(0, 3))).toString('hex')}`))
  writer.op(OP.GAS, kind)
}

function lookAtInput(random: Random, writer: Writer): void {
  writer.push(size(random) / 3n)
  writer.op(OP.CALLDATALOAD, OP.CALLDATASIZE, OP.PUSH0)
  writer.push(size(random) / 3n)
  writer.op(OP.CALLDATACOPY)
  writer.op(OP.MSIZE, OP.PUSH0, OP.KECCAK256)
}

function copyReturned(random: Random, writer: Writer): void {
  writer.op(OP.RETURNDATASIZE, OP.PUSH0)
  writer.push(size(random) / 3n)
  writer.op(OP.RETURNDATACOPY)
}

function answer(random: Random, writer: Writer): void {
  if (random.oneIn(3)) writer.op(OP.MSIZE, OP.PUSH0, OP.LOG0)
  writer.op(OP.PUSH0, OP.MSTORE)
  if (random.oneIn(2)) writer.push(BigInt(random.pick([32, 5_000, 90_000, 300_000])))
  else writer.op(OP.MSIZE)
  writer.push(BigInt(random.pick([0, 0, 1, 1_000])))
  writer.op(random.pick([OP.RETURN, OP.RETURN, OP.REVERT]))
}
