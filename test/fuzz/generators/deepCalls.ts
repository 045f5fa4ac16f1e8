import { OP } from '../../../src/evm/opcodes.ts'
import { createCodeWriter, createLabel } from '../codeWriter.ts'
import type { FuzzCase } from '../fuzzCase.ts'
import { messageTo, pickFork } from '../messages.ts'
import { bystanders, CONTRACTS, contractAccount } from '../population.ts'
import type { Random } from '../random.ts'

/** Enough for 1,024 frames, of which each gives 63/64 of its gas to the next. */
const DEEP_GAS = 40_000_000_000n

/** A contract that calls or creates itself once a frame, until a limit ends it; every frame then does a little work. */
export function deepCallsCase(random: Random): Omit<FuzzCase, 'isSliced'> {
  const accounts = bystanders(random)
  const [address, other] = CONTRACTS as [Uint8Array, Uint8Array]
  const creates = random.oneIn(3)
  accounts.push(contractAccount(address, creates ? creatingCode(random) : callingCode(random), random))
  accounts.push(contractAccount(other, callingCode(random), random))
  const fork = pickFork(random)
  // Osaka caps the gas of a transaction.
  const most = fork === 'osaka' ? 10_000_000n : DEEP_GAS
  const gasLimit = random.oneIn(3) ? BigInt(random.between(100_000, 3_000_000)) : most
  const message = { ...messageTo(random, address), gasLimit }
  return { kind: 'deep', fork, accounts, messages: [message] }
}

function callingCode(random: Random): Uint8Array {
  const writer = createCodeWriter()
  const kind = random.pick([OP.CALL, OP.CALL, OP.STATICCALL, OP.DELEGATECALL, OP.CALLCODE])
  work(random, writer)
  writer.op(OP.PUSH0, OP.PUSH0, OP.PUSH0, OP.PUSH0)
  if (kind === OP.CALL || kind === OP.CALLCODE) writer.push(random.oneIn(3) ? 1n : 0n)
  if (random.oneIn(2)) writer.op(OP.ADDRESS)
  else writer.push(BigInt(`0x${Buffer.from(random.pick(CONTRACTS.slice(0, 2))).toString('hex')}`))
  writer.op(OP.GAS, kind)
  afterwards(random, writer)
  return writer.finish()
}

function creatingCode(random: Random): Uint8Array {
  const writer = createCodeWriter()
  work(random, writer)
  // its own code is the init code
  writer.op(OP.CODESIZE, OP.PUSH0, OP.PUSH0, OP.CODECOPY)
  const kind = random.pick([OP.CREATE, OP.CREATE2])
  if (kind === OP.CREATE2) writer.op(OP.PUSH0)
  writer.op(OP.CODESIZE, OP.PUSH0)
  writer.push(random.oneIn(3) ? 1n : 0n)
  writer.op(kind)
  afterwards(random, writer)
  return writer.finish()
}

function work(random: Random, writer: ReturnType<typeof createCodeWriter>): void {
  if (random.oneIn(2)) return
  const [first, second] = [BigInt(random.below(3)), BigInt(random.below(3))]
  writer.push(first)
  writer.push(second)
  writer.op(random.pick([OP.TSTORE, OP.MSTORE, OP.SSTORE]))
}

/** Some frames revert, some fail, each may log how far it went. */
function afterwards(random: Random, writer: ReturnType<typeof createCodeWriter>): void {
  if (random.oneIn(2)) writer.op(OP.PUSH0, OP.MSTORE)
  if (random.oneIn(3)) writer.op(OP.GAS, OP.PUSH0, OP.PUSH0, OP.LOG0 + 1)
  if (random.oneIn(3)) {
    const end = createLabel()
    writer.op(OP.GAS)
    writer.push(BigInt(random.between(1, 5)))
    writer.op(OP.AND)
    writer.pushLabel(end)
    writer.op(OP.JUMPI, OP.PUSH0, OP.PUSH0, random.pick([OP.REVERT, OP.REVERT, OP.INVALID]))
    writer.mark(end)
  }
  work(random, writer)
  writer.push(BigInt(random.pick([0, 32, 64])))
  writer.op(OP.PUSH0, OP.RETURN)
}
