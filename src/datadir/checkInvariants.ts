import { getSupply } from '../modules/bank/ledger.ts'
import type { ReadContext } from '../modules/context.ts'
import { distributionInvariants } from '../modules/distribution/invariants.ts'
import { govInvariants } from '../modules/gov/state.ts'
import { slashingInvariants } from '../modules/slashing/invariants.ts'
import { stakingInvariants } from '../modules/staking/invariants.ts'
import { getValidator, lastPowers } from '../modules/staking/validators.ts'
import { vestingInvariants } from '../modules/vesting/invariants.ts'
import { bytesToHex } from '../primitives/bytes.ts'
import { Journal } from '../state/journal.ts'
import type { NodeView } from '../state/view.ts'

export interface InvariantReport {
  /** of the block whose state was checked */
  readonly height: number
  /** accounts in the state */
  readonly accounts: number
  /** what does not hold; empty when all is well */
  readonly problems: readonly string[]
}

/** Invariants of the modules' states. */
const MODULE_INVARIANTS: readonly ((context: ReadContext) => Iterable<string>)[] = [
  stakingInvariants,
  distributionInvariants,
  slashingInvariants,
  govInvariants,
  vestingInvariants,
]

/** Checks the whole state of the newest block: every account, validator, delegation, deposit and signing record. */
export async function checkInvariants(view: NodeView): Promise<InvariantReport> {
  const { headHeight: height } = view.chain
  const header = view.chain.header(height)!
  const timeMs = view.chain.consensusBlock(height)?.header.timeMs ?? header.timestamp * 1000
  const world = new Journal(view.stateAt(height))
  const context: ReadContext = { world, block: { height, timeMs } }
  const { accounts, problems } = await checkSupply(view, context)
  for (const invariants of MODULE_INVARIANTS) problems.push(...invariants(context))
  problems.push(...checkPowers(view, context))
  return { height, accounts, problems }
}

/** Checks that the total supply is the sum of all balances. */
async function checkSupply(view: NodeView, { world }: ReadContext): Promise<{ accounts: number; problems: string[] }> {
  const state = view.stateAt(view.chain.headHeight)
  let accounts = 0
  let sum = 0n
  for await (const address of view.accounts()) {
    accounts++
    sum += state.getAccount(address)?.balance ?? 0n
  }
  const supply = getSupply(world)
  const problems = supply === sum ? [] : [`bank: the supply is ${supply}acoin, but the balances add up to ${sum}acoin`]
  return { accounts, problems }
}

/** Consensus has the validator powers that staking computed; they take effect in the second block from now. */
function* checkPowers({ chain }: NodeView, { world, block }: ReadContext): Iterable<string> {
  const set = chain.validatorSetAt(block.height + 2)
  if (set === undefined) throw new Error(`the validators of block ${block.height + 2} are not stored`)
  const powers = new Map(set.validators.map(({ publicKey, power }) => [bytesToHex(publicKey), power]))
  for (const { operator, power } of lastPowers(world.native)) {
    const validator = getValidator(world.native, operator)
    const key = bytesToHex(validator?.publicKey ?? operator)
    if (powers.get(key) !== power) {
      yield `staking: ${bytesToHex(operator)} has power ${power}, but ${powers.get(key) ?? 0n} in consensus`
    }
    powers.delete(key)
  }
  for (const key of powers.keys()) yield `staking: consensus counts key ${key}, but no validator with power has it`
}
