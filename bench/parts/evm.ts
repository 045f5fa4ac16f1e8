import type { Address } from '../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.ts'
import { assemble, creationCode } from '../code/assemble.ts'
import { word } from '../contracts/abi.ts'
import { deploy, deployContract } from '../contracts/deploy.ts'
import { deployMarket } from '../contracts/market.ts'
import { deployToken, endow } from '../contracts/token.ts'
import { CALLEE, workloads } from '../evm/workloads.ts'
import { call } from '../load/rpc.ts'
import { percentile } from '../measure/percentile.ts'
import type { Report } from '../report.ts'
import type { Target } from '../targets/target.ts'
import { sendCalls } from './accounts.ts'

interface EvmOptions {
  /** gas that one measured call should take, about */
  readonly gas: number
  /** measured calls of each workload, after two that are not */
  readonly rounds: number
  /** only workloads whose names contain it */
  readonly only: string
}

/** Above what any measured call takes; the nodes must allow a call so much. */
export const CALL_GAS_LIMIT = 1_000_000_000
/** Rounds of the first call, which measures the gas of one round, and how often it is measured. */
const TRIAL_ROUNDS = 32
const TRIALS = 3
const WARM_UPS = 2
/** Slots that fit into a transaction of the setup. */
const SLOTS_AT_ONCE = 500
const ABSENT = hexToBytes('0x00000000000000000000000000000000000dead1')

/** A loop that is deployed on every target. */
interface Placed {
  readonly name: string
  readonly addresses: readonly Address[]
  readonly mostRounds: number
}

/**
 * Gas per second through eth_call of loops whose contracts measure their own gas. The targets take turns, so that other
 * load of the machine meets all of them. @throws Error when they do not take the same gas
 */
export async function measureEvm(targets: readonly Target[], options: EvmOptions, report: Report): Promise<void> {
  for (const placed of await placeAll(targets, options.only)) {
    const { name, addresses } = placed
    const rounds = await roundsFor(targets[0]!, placed, options.gas)
    const rates = targets.map((): number[] => [])
    const gas = new Set<number>()
    for (let round = 0; round < options.rounds + WARM_UPS; round++) {
      for (const [index, target] of targets.entries()) {
        const measured = await runLoop(target, addresses[index]!, rounds)
        gas.add(measured.gas)
        if (round >= WARM_UPS) rates[index]!.push(measured.gas / measured.ms / 1_000)
      }
    }
    if (gas.size > 1) throw new Error(`${name}: the gas differs: ${[...gas].join(', ')}`)
    for (const [index, target] of targets.entries()) {
      const sorted = rates[index]!.sort((a, b) => a - b)
      const note = `median ${percentile(sorted, 50).toFixed(0)}, ${([...gas][0]! / 1e6).toFixed(1)} Mgas a call`
      report.add(target.name, [{ name, unit: 'Mgas/s', value: sorted.at(-1)!, note }])
    }
  }
}

/** Rounds of a loop that take about this gas; the first ones may cost more than the others. */
async function roundsFor(target: Target, { addresses, mostRounds }: Placed, gas: number): Promise<number> {
  let rounds = TRIAL_ROUNDS
  for (let trial = 0; trial < TRIALS; trial++) {
    const measured = await runLoop(target, addresses[0]!, rounds)
    rounds = Math.max(1, Math.min(mostRounds, Math.ceil((gas * rounds) / measured.gas)))
  }
  return rounds
}

async function runLoop(target: Target, to: Address, rounds: number): Promise<{ gas: number; ms: number }> {
  const request = { to: bytesToHex(to), data: `0x${word(BigInt(rounds))}`, gas: `0x${CALL_GAS_LIMIT.toString(16)}` }
  const beginMs = performance.now()
  const answer = await call<string>(target.url, 'eth_call', [request, 'latest'])
  return { ms: performance.now() - beginMs, gas: Number(answer) }
}

async function placeAll(targets: readonly Target[], only: string): Promise<Placed[]> {
  const perTarget = await Promise.all(targets.map((target) => place(target, only)))
  return perTarget[0]!.map(({ name, mostRounds }, index) => ({
    name,
    mostRounds,
    addresses: perTarget.map((placed) => placed[index]!.address),
  }))
}

function fillCalls(slots: number): { readonly data: Uint8Array }[] {
  return Array.from({ length: Math.ceil(slots / SLOTS_AT_ONCE) }, (_, index) => {
    const to = Math.min(slots, (index + 1) * SLOTS_AT_ONCE)
    return { data: hexToBytes(`0x${word(BigInt(index * SLOTS_AT_ONCE))}${word(BigInt(to))}`) }
  })
}

interface PlacedOnOne {
  readonly name: string
  readonly address: Address
  readonly mostRounds: number
}

async function place(target: Target, only: string): Promise<PlacedOnOne[]> {
  const placed: PlacedOnOne[] = []
  const callee = (await deploy(target, creationCode(assemble(CALLEE)))).address
  for (const { name, code, slots, mostRounds } of workloads({ callee, absent: ABSENT })) {
    if (!name.includes(only)) continue
    const { address } = await deploy(target, creationCode(code))
    if (slots > 0) await sendCalls(target, address, fillCalls(slots))
    placed.push({ name, address, mostRounds })
  }
  const unlimited = { mostRounds: Number.POSITIVE_INFINITY }
  if ('ERC-20 transfer'.includes(only)) {
    const token = await deployToken(target)
    const address = await deployContract(target, 'TransferLoop', token)
    await endow(target, token, address)
    placed.push({ name: 'ERC-20 transfer (OpenZeppelin)', address, ...unlimited })
  }
  if ('Uniswap v2 swap'.includes(only)) {
    const { pair, tokens } = await deployMarket(target)
    const address = await deployContract(target, 'SwapLoop', pair, ...tokens)
    for (const token of tokens) await endow(target, token, address)
    placed.push({ name: 'Uniswap v2 swap', address, ...unlimited })
  }
  return placed
}
