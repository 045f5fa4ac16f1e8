import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { generateCase } from '../../fuzz/generateCase.ts'
import { anyAddress, CONTRACTS, SENDER, standardPrecompile } from '../../fuzz/population.ts'
import { createRandom, type Random } from '../../fuzz/random.ts'

/** The parameters of an eth_simulateV1. */
export type SimulateParams = readonly [options: Readonly<Record<string, unknown>>, block: string]

type Json = Record<string, unknown>

const ETHER = 10n ** 18n
/** the head of the suite's chain */
const HEAD = { number: 54, time: 540 } as const

const quantity = (value: bigint | number): string => `0x${value.toString(16)}`
const word = (value: bigint): string => `0x${value.toString(16).padStart(64, '0')}`

/**
 * The request of a seed and a number: blocks with overrides of all kinds and calls of random programs, many of which fail; the same for ever,
 * as long as the generators stay as they are.
 */
export function simulateRequest(seed: number, index: number): SimulateParams {
  const random = createRandom(seed ^ 0x51_31_07, index)
  const count = random.weighted<number>([
    [6, 1],
    [4, 2],
    [2, 3],
    [1, 5],
  ])
  const blocks: Json[] = []
  const last = { number: HEAD.number, time: HEAD.time }
  for (let at = 0; at < count; at++)
    blocks.push(simulatedBlock(random, { seed, index: index * 7 + at, last, isFirst: at === 0 }))
  const options: Json = { blockStateCalls: blocks }
  for (const name of ['traceTransfers', 'validation', 'returnFullTransactions']) {
    if (random.oneIn(3)) options[name] = random.oneIn(2)
  }
  return [options, random.oneIn(12) ? quantity(random.between(48, 54)) : 'latest']
}

interface BlockPlace {
  readonly seed: number
  readonly index: number
  readonly last: { number: number; time: number }
  readonly isFirst: boolean
}

function simulatedBlock(random: Random, { seed, index, last, isFirst }: BlockPlace): Json {
  const program = generateCase(seed, index)
  const block: Json = {}
  if (random.oneIn(2)) block.blockOverrides = blockOverrides(random, last)
  const states: Json = {}
  if (isFirst || random.oneIn(3)) {
    for (const { address, balance, nonce, code, storage } of program.accounts) {
      const account: Json = { balance: quantity(balance) }
      // A creation finds storage of an override in its way (EIP-7610), but in geth only after the next block.
      const isBareStorage = nonce === 0n && code.length === 0 && storage.length > 0
      if (nonce > 0n || isBareStorage) account.nonce = quantity(isBareStorage ? 1n : nonce)
      if (code.length > 0) account.code = bytesToHex(code)
      if (storage.length > 0) {
        const slots = Object.fromEntries(storage.map(([slot, value]) => [word(slot), word(value)]))
        account[random.oneIn(2) ? 'state' : 'stateDiff'] = slots
      }
      states[bytesToHex(address)] = account
    }
  }
  if (random.oneIn(8)) {
    states[bytesToHex(standardPrecompile(random))] = { movePrecompileToAddress: bytesToHex(random.bytes(20)) }
  }
  if (random.oneIn(20)) states[bytesToHex(random.pick(CONTRACTS))] = { state: {}, stateDiff: {} }
  if (Object.keys(states).length > 0) block.stateOverrides = states
  const calls: Json[] = program.messages.slice(0, random.below(4)).map((message) => {
    const call: Json = {
      from: bytesToHex(random.oneIn(6) ? anyAddress(random) : SENDER),
      gas: quantity(message.gasLimit),
      input: bytesToHex(message.data),
    }
    if (message.to !== undefined) call.to = bytesToHex(message.to)
    if (message.value > 0n) call.value = quantity(message.value)
    if (message.accessList.length > 0) {
      call.accessList = message.accessList.map(({ address, storageKeys }) => ({
        address: bytesToHex(address),
        storageKeys: storageKeys.map(bytesToHex),
      }))
    }
    return { ...call, ...callOddities(random) }
  })
  if (calls.length > 0 || random.oneIn(3)) block.calls = calls
  return block
}

function blockOverrides(random: Random, last: { number: number; time: number }): Json {
  const overrides: Json = {}
  if (random.oneIn(3)) {
    last.number += random.between(random.oneIn(15) ? 0 : 1, 4)
    overrides.number = quantity(last.number)
  }
  if (random.oneIn(3)) {
    last.time += random.between(random.oneIn(15) ? 0 : 100, 900)
    overrides.time = quantity(last.time)
  }
  if (random.oneIn(4)) overrides.gasLimit = quantity(random.pick([21_000, 100_000, 5_000_000, 400_000_000]))
  if (random.oneIn(3)) overrides.feeRecipient = bytesToHex(random.pick([...CONTRACTS, SENDER]))
  if (random.oneIn(3)) overrides.prevRandao = bytesToHex(random.bytes(32))
  if (random.oneIn(3)) overrides.baseFeePerGas = quantity(random.pick([0n, 7n, 10n ** 9n, 10n ** 12n]))
  if (random.oneIn(5)) overrides.blobBaseFee = quantity(random.pick([1n, 10n ** 9n]))
  return overrides
}

/** What makes calls cost, or fail. */
function callOddities(random: Random): Json {
  return random.weighted<() => Json>([
    [10, () => ({})],
    [2, () => ({ gas: undefined })],
    [2, () => ({ maxFeePerGas: quantity(random.pick([1n, 10n ** 9n, 10n ** 13n])) })],
    [
      2,
      () => ({ maxFeePerGas: quantity(10n ** 12n), maxPriorityFeePerGas: quantity(random.pick([0n, 5n, 10n ** 12n])) }),
    ],
    [1, () => ({ maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x2' })],
    [1, () => ({ gasPrice: quantity(random.pick([0n, 10n ** 9n])) })],
    [1, () => ({ nonce: quantity(random.pick([0n, 1n, 7n, 2n ** 64n - 1n])) })],
    [1, () => ({ value: quantity(random.pick([1n, ETHER, 2n ** 255n])) })],
    [1, () => ({ gas: quantity(random.pick([0, 20_999, 21_000, 100_000_000])) })],
    [1, () => ({ to: bytesToHex(standardPrecompile(random)) })],
    [1, () => ({ chainId: quantity(random.pick([1n, 3_503_995_874_084_926n])) })],
  ])()
}
