import { BECH32_CONSENSUS, BECH32_OPERATOR, parseAddress } from '../../src/primitives/address.ts'
import { bytesKey, hexToBytes } from '../../src/primitives/bytes.ts'
import { beginPosition, endPosition, transactionPosition } from '../database/position.ts'
import type { BlockResults, ConsensusBlock, EthereumBlock, Event, Receipt } from '../node/answers.ts'
import { accountOf, coinsOf, isEvm, isOfBegin, signersOf } from '../node/readAnswers.ts'
import type { STAKING_EVENT_KINDS } from './tables.ts'

/** The node's answers for a block, as far as stake needs them. */
export interface StakingBlock {
  readonly height: number
  readonly ethereum: Pick<EthereumBlock, 'transactions'>
  readonly consensus: ConsensusBlock
  readonly results: BlockResults
  /** of its EVM transactions, in their order */
  readonly receipts: readonly Receipt[]
}

type StakingEventKind = (typeof STAKING_EVENT_KINDS)[number]

export interface StakingEvent {
  readonly kind: StakingEventKind
  /** 20 bytes: the operator's account; for slashes and jailings the address of the consensus key */
  readonly validator: Uint8Array
  readonly isByConsensusKey: boolean
  /** Whether only the transaction's signer identifies the validator. */
  readonly isBySigner?: boolean
  /** where a redelegation goes to */
  readonly destination?: Uint8Array
  readonly delegator?: Uint8Array
  /** acoin */
  readonly amount?: bigint
  /** of a slash: why */
  readonly reason?: string
}

export interface PlacedStakingEvent extends StakingEvent {
  readonly position: number
}

/** keccak256 of `ValidatorUnjailed(address)`, which the precompile of x/slashing logs, as the module has no event for it. */
const UNJAILED_TOPIC = '0x9390b453426557da5ebdc31f19a37753ca04addf656d32f35232211bb2af3f19'
const SLASHING_PRECOMPILE = '0x0000000000000000000000000000000000000806'
const UNJAIL_MESSAGE = '/cosmos.slashing.v1beta1.MsgUnjail'

/** Reads the changes of stake in a block, in their order. Failed transactions have changed nothing. */
export function blockStakingEvents(block: StakingBlock): readonly PlacedStakingEvent[] {
  const { height, ethereum, consensus, results, receipts } = block
  const placed: PlacedStakingEvent[] = []
  const place = (position: number, events: readonly StakingEvent[]): void => {
    for (const event of events) placed.push({ ...event, position })
  }
  const own = results.finalize_block_events ?? []
  place(beginPosition(height), stakingEvents(own.filter(isOfBegin), undefined))
  let evmCount = 0
  for (const [index, { code, events }] of (results.txs_results ?? []).entries()) {
    const bytes = Buffer.from(consensus.block.data.txs![index]!, 'base64')
    const receipt = isEvm(bytes) ? receipts[evmCount] : undefined
    const signer = isEvm(bytes) ? ethereum.transactions[evmCount++]!.from : signersOf(events)[0]
    if (code !== 0 || (receipt !== undefined && Number(receipt.status) !== 1)) continue
    const actor = signer === undefined ? undefined : parseAddress(signer)
    place(transactionPosition(height, index), stakingEvents(events, actor, receipt?.logs))
  }
  const after = own.filter((event) => !isOfBegin(event))
  place(endPosition(height), stakingEvents(after, undefined))
  return placed
}

/**
 * Reads the changes of stake from the events of a transaction, or of the start or end of a block (x/staking, x/distribution and
 * x/slashing, types/events.go of each). Precompiles cause the same events as messages.
 * @param actor the signer, who acts unless an event names another account; undefined at the start and end of blocks
 * @param logs of an EVM transaction
 */
export function stakingEvents(
  events: readonly Event[],
  actor: Uint8Array | undefined,
  logs: Receipt['logs'] = [],
): readonly StakingEvent[] {
  const found: StakingEvent[] = []
  /** by validator, the account that last withdrew rewards: every change of a delegation starts with that */
  const withdrawers = new Map<string, Uint8Array>()
  for (const { type, attributes } of events) {
    const value = (name: string): string => attributes.find(({ key }) => key === name)?.value ?? ''
    const operator = (name = 'validator'): Uint8Array => parseAddress(value(name), BECH32_OPERATOR)
    const amount = (): bigint => coinsOf(value('amount'))
    const add = (kind: StakingEventKind, rest: Omit<StakingEvent, 'kind' | 'isByConsensusKey'>): void => {
      found.push({ kind, isByConsensusKey: false, ...rest })
    }
    const stake = (kind: StakingEventKind): void =>
      add(kind, { validator: operator(), delegator: accountOf(value('delegator')), amount: amount() })
    switch (type) {
      case 'create_validator':
        // Its operator delegates to it.
        add('create', { validator: operator(), delegator: operator(), amount: amount() })
        break
      case 'edit_validator':
        if (actor !== undefined) add('edit', { validator: actor, isBySigner: true })
        break
      case 'delegate':
        stake('delegate')
        break
      case 'unbond':
        stake('undelegate')
        break
      case 'cancel_unbonding_delegation':
        stake('cancelUndelegation')
        break
      case 'complete_unbonding':
        stake('completeUndelegation')
        break
      case 'redelegate': {
        const validator = operator('source_validator')
        const delegator = withdrawers.get(bytesKey(validator)) ?? actor
        const destination = operator('destination_validator')
        add('redelegate', {
          validator,
          destination,
          amount: amount(),
          ...(delegator === undefined ? {} : { delegator }),
        })
        break
      }
      case 'complete_redelegation':
        add('completeRedelegation', {
          validator: operator('source_validator'),
          destination: operator('destination_validator'),
          delegator: accountOf(value('delegator')),
          amount: amount(),
        })
        break
      case 'withdraw_rewards':
        withdrawers.set(bytesKey(operator()), accountOf(value('delegator')))
        stake('withdrawRewards')
        break
      case 'withdraw_commission':
        if (actor !== undefined) add('withdrawCommission', { validator: actor, amount: amount(), isBySigner: true })
        break
      case 'slash':
        found.push(...slashEvents(value))
        break
      case 'message':
        if (value('action') === UNJAIL_MESSAGE && actor !== undefined)
          add('unjail', { validator: actor, isBySigner: true })
        break
    }
  }
  for (const { address, topics } of logs) {
    if (address.toLowerCase() !== SLASHING_PRECOMPILE || topics[0] !== UNJAILED_TOPIC) continue
    found.push({ kind: 'unjail', isByConsensusKey: false, validator: hexToBytes(topics[1]!).subarray(12) })
  }
  return found
}

/** Reads an event of a slash, of a jailing, or of both. */
function slashEvents(value: (name: string) => string): StakingEvent[] {
  const found: StakingEvent[] = []
  const [address, jailed] = [value('address'), value('jailed')]
  if (address !== '') {
    found.push({
      kind: 'slash',
      isByConsensusKey: true,
      validator: parseAddress(address, BECH32_CONSENSUS),
      amount: BigInt(value('burned_coins') || '0'),
      reason: value('reason'),
    })
  }
  if (jailed !== '') {
    found.push({ kind: 'jail', isByConsensusKey: true, validator: parseAddress(jailed, BECH32_CONSENSUS) })
  }
  return found
}
