import { OP } from '../../../src/evm/opcodes.ts'
import type { Address } from '../../../src/primitives/address.ts'
import { bigIntToBytes, concatBytes, EMPTY_BYTES, padLeft } from '../../../src/primitives/bytes.ts'
import { edgeWord } from '../edgeWords.ts'
import type { FuzzCase, FuzzMessage } from '../fuzzCase.ts'
import { executionGas, messageTo, pickFork } from '../messages.ts'
import { anyAddress, bystanders, CONTRACTS, SENDER } from '../population.ts'
import type { Random } from '../random.ts'
import { type CallShape, PAIR, type RealContract, realContracts, TOKEN_A, WRAPPED } from './realContracts.ts'

/** Well-known contracts with some bytes changed, and calls of their functions with some bytes changed. */
export function mutatedContractsCase(random: Random): Omit<FuzzCase, 'isSliced'> {
  const contracts = realContracts()
  const victim = random.pick(contracts)
  const changesCode = !random.oneIn(3)
  const accounts = bystanders(random)
  for (const { account } of contracts) {
    const isVictim = account === victim.account && changesCode
    accounts.push(isVictim ? { ...account, code: mutateCode(account.code, random) } : account)
  }
  const count = random.between(1, 3)
  const messages = Array.from({ length: count }, () =>
    messageOf(random.oneIn(4) ? random.pick(contracts) : victim, random),
  )
  return { kind: 'mutated', fork: pickFork(random), accounts, messages }
}

function messageOf({ account, calls }: RealContract, random: Random): FuzzMessage {
  const message = messageTo(random, account.address)
  const data = random.oneIn(12) ? message.data : callData(random.pick(calls), random)
  // most functions take no value
  const value = random.oneIn(8) ? message.value : 0n
  const gas = executionGas(random)
  return { ...message, data: random.oneIn(6) ? mutate(data, random) : data, value, gasLimit: gas }
}

function callData({ selector, inputs }: CallShape, random: Random): Uint8Array {
  const tail: Uint8Array[] = []
  const head = inputs.map((input) => {
    if (input === 'address') return padLeft(knownAddress(random), 32)
    if (input === 'amount') return bigIntToBytes(amount(random), 32)
    const length = random.pick([0, 0, 1, 32, 33])
    tail.push(bigIntToBytes(BigInt(length), 32), random.bytes(Math.ceil(length / 32) * 32))
    return bigIntToBytes(BigInt(32 * inputs.length), 32)
  })
  return concatBytes(selector, ...head, ...tail)
}

function knownAddress(random: Random): Address {
  return random.oneIn(3) ? anyAddress(random) : random.pick([SENDER, PAIR, TOKEN_A, WRAPPED, ...CONTRACTS])
}

function amount(random: Random): bigint {
  return random.oneIn(3) ? edgeWord(random) : BigInt(random.below(100_000)) * 10n ** BigInt(random.below(18))
}

/** Instructions replaced, bytes flipped, inserted, left out, doubled, or the rest cut off. */
function mutateCode(code: Uint8Array, random: Random): Uint8Array {
  let mutated = code
  for (
    let i = random.weighted([
      [4, 1],
      [2, 2],
      [1, 5],
    ] as const);
    i > 0;
    i--
  ) {
    mutated = random.oneIn(2) ? replaceOpcode(mutated, random) : mutate(mutated, random)
  }
  return mutated
}

/** Puts an arithmetic or stack opcode in the place of another, so that the code goes on. */
function replaceOpcode(code: Uint8Array, random: Random): Uint8Array {
  if (code.length === 0) return code
  const at = random.below(code.length)
  const near = code[at]!
  const opcode = near >= OP.DUP1 && near < OP.LOG0 ? near ^ (1 << random.below(5)) : random.below(0x1e)
  return code.with(at, opcode)
}

function mutate(bytes: Uint8Array, random: Random): Uint8Array {
  if (bytes.length === 0) return random.bytes(random.below(5))
  const at = random.below(bytes.length)
  switch (random.below(8)) {
    case 0:
      return concatBytes(bytes.slice(0, at), random.bytes(random.between(1, 3)), bytes.slice(at))
    case 1:
      return concatBytes(bytes.slice(0, at), bytes.slice(at + random.between(1, 3)))
    case 2:
      return random.oneIn(4)
        ? bytes.slice(0, at)
        : bytes.slice(0, bytes.length - random.below(Math.min(bytes.length, 40)))
    case 3:
      return random.oneIn(8) ? EMPTY_BYTES : concatBytes(bytes, bytes.slice(at, at + 32))
    case 4:
      return bytes.with(at, bytes[at]! ^ (1 << random.below(8)))
    default:
      return bytes.with(at, random.below(256))
  }
}
