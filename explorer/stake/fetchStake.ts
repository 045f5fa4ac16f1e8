import { BECH32_CONSENSUS, BECH32_OPERATOR, parseAddress, toBech32 } from '../../src/primitives/address.ts'
import { bytesKey, equalBytes } from '../../src/primitives/bytes.ts'
import type { NodeValidator } from '../node/answers.ts'
import type { NodeClient } from '../node/nodeClient.ts'
import { accountOf } from '../node/readAnswers.ts'
import { askState, askWholeState, type PagedAnswer } from '../node/stateQueries.ts'
import { type Absence, fetchAbsences, type PowerChange, powerChanges } from './signatures.ts'
import { blockStakingEvents, type PlacedStakingEvent, type StakingBlock, type StakingEvent } from './stakingEvents.ts'

/*
 * Stake after a batch of blocks, requested from the node where events report a change. Events have no shares, and a slash changes the stake
 * of delegators that its event does not name. So the node's answer, which is exact, decides in each batch.
 */

/** A delegation in 10^-18 shares; null: it has ended. */
export interface Stake {
  readonly delegator: Uint8Array
  /** of the operator */
  readonly validator: Uint8Array
  readonly shares: bigint | null
}

export interface StakeState {
  /** all validators */
  readonly validators: readonly NodeValidator[]
  /** addresses of consensus keys that may never sign again */
  readonly tombstoned: readonly Uint8Array[]
  /** the delegations that may have changed, or all */
  readonly delegations: readonly Stake[]
  /** whether all other delegations have ended */
  readonly hasAllDelegations: boolean
}

/** Changes of stake in a batch of blocks. */
export interface StakingChanges {
  readonly events: readonly PlacedStakingEvent[]
  readonly absences: readonly Absence[]
  readonly powers: readonly PowerChange[]
  /** stake after the batch; undefined: as before it */
  readonly state: StakeState | undefined
}

interface DelegationResponse {
  readonly delegation: {
    readonly delegator_address: string
    readonly validator_address: string
    readonly shares: string
  }
}

/** Questions that are under way at once. */
const AT_ONCE = 8

/** Fetches all stake after the block at `height`. */
export async function fetchAllStake(node: Pick<NodeClient, 'rest'>, height: number): Promise<StakeState> {
  const known = await fetchValidators(node, height)
  const lists = await mapAll(known.validators, ({ operator_address: operator }) =>
    askWholeState(
      node,
      `/cosmos/staking/v1beta1/validators/${operator}/delegations`,
      height,
      (answer: PagedAnswer & { readonly delegation_responses: readonly DelegationResponse[] }) =>
        answer.delegation_responses,
    ),
  )
  return { ...known, delegations: lists.flat().map(readDelegation), hasAllDelegations: true }
}

/**
 * Fetches the changes of stake in consecutive blocks.
 * @throws NodeError
 */
export async function fetchStaking(
  node: Pick<NodeClient, 'rest' | 'comet'>,
  blocks: readonly StakingBlock[],
): Promise<StakingChanges> {
  const events = blocks.flatMap(blockStakingEvents)
  const powers = blocks.flatMap(({ height, results }) => powerChanges(height, results))
  const [absences, state] = await Promise.all([
    fetchAbsences(node, blocks),
    fetchChangedStake(node, blocks.at(-1)!.height, events, powers.length > 0),
  ])
  return { events, absences, powers, state }
}

/**
 * Fetches the stake after the block at `height` that these events may have changed.
 * @param hasOtherChanges whether validators may have changed without an event
 * @returns undefined: nothing has changed
 */
async function fetchChangedStake(
  node: Pick<NodeClient, 'rest'>,
  height: number,
  events: readonly StakingEvent[],
  hasOtherChanges: boolean,
): Promise<StakeState | undefined> {
  const changes = events.filter(({ kind }) => kind !== 'withdrawRewards' && kind !== 'withdrawCommission')
  if (changes.length === 0 && !hasOtherChanges) return undefined
  // A slash also takes from what was redelegated, wherever that is now.
  if (changes.some(({ kind }) => kind === 'slash')) return fetchAllStake(node, height)
  const pairs = new Map<string, readonly [Uint8Array, Uint8Array]>()
  for (const { delegator, validator, destination } of changes) {
    if (delegator === undefined) continue
    for (const to of [validator, destination]) {
      if (to !== undefined) pairs.set(bytesKey(delegator) + bytesKey(to), [delegator, to])
    }
  }
  const [known, delegations] = await Promise.all([
    fetchValidators(node, height),
    mapAll([...pairs.values()], async ([delegator, validator]): Promise<Stake> => {
      const path = `/cosmos/staking/v1beta1/validators/${toBech32(validator, BECH32_OPERATOR)}/delegations/${toBech32(delegator)}`
      const answer = await askState<{ readonly delegation_response: DelegationResponse }>(node, path, height)
      return answer === undefined ? { delegator, validator, shares: null } : readDelegation(answer.delegation_response)
    }),
  ])
  return { ...known, delegations, hasAllDelegations: false }
}

async function fetchValidators(
  node: Pick<NodeClient, 'rest'>,
  height: number,
): Promise<Pick<StakeState, 'validators' | 'tombstoned'>> {
  const [validators, infos] = await Promise.all([
    askWholeState(
      node,
      '/cosmos/staking/v1beta1/validators',
      height,
      (answer: PagedAnswer & { readonly validators: readonly NodeValidator[] }) => answer.validators,
    ),
    askWholeState(
      node,
      '/cosmos/slashing/v1beta1/signing_infos',
      height,
      (
        answer: PagedAnswer & { readonly info: readonly { readonly address: string; readonly tombstoned: boolean }[] },
      ) => answer.info,
    ),
  ])
  const tombstoned = infos.filter((info) => info.tombstoned)
  return { validators, tombstoned: tombstoned.map(({ address }) => parseAddress(address, BECH32_CONSENSUS)) }
}

function readDelegation({ delegation }: DelegationResponse): Stake {
  return {
    delegator: accountOf(delegation.delegator_address),
    validator: parseAddress(delegation.validator_address, BECH32_OPERATOR),
    shares: readDecimal(delegation.shares),
  }
}

/** A number with 18 places after the point, as the SDK writes decimals, in units of the last place. */
export function readDecimal(text: string): bigint {
  const [, whole, fraction = ''] = /^([0-9]{1,60})(?:\.([0-9]{1,18}))?$/.exec(text) ?? []
  if (whole === undefined) throw new Error(`the node reports an invalid decimal: ${text.slice(0, 100)}`)
  return BigInt(whole + fraction.padEnd(18, '0'))
}

/** Whether one of these is that address. */
export function includesAddress(list: readonly Uint8Array[], address: Uint8Array): boolean {
  return list.some((own) => equalBytes(own, address))
}

/** Like Promise.all, with few calls at a time. The results are in the order of the items. */
async function mapAll<T, R>(items: readonly T[], map: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let at = 0; at < items.length; at += AT_ONCE) {
    results.push(...(await Promise.all(items.slice(at, at + AT_ONCE).map(map))))
  }
  return results
}
