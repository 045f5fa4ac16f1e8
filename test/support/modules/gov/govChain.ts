import type { NativeEvent } from '../../../../src/chain/block/entries.ts'
import { createGenesis } from '../../../../src/chain/genesis/createGenesis.ts'
import type { Genesis } from '../../../../src/chain/genesis/genesisSchema.ts'
import { applyGenesis, genesisStateOf } from '../../../../src/execution/genesisBlock.ts'
import { beginBlock, endBlock } from '../../../../src/modules/block.ts'
import { coinsOf } from '../../../../src/modules/coin.ts'
import type { ModuleContext } from '../../../../src/modules/context.ts'
import { getProposal, govInvariants } from '../../../../src/modules/gov/state.ts'
import { MsgSubmitProposal, MsgSubmitProposalResponse, type Proposal } from '../../../../src/modules/gov/types.ts'
import { MESSAGES } from '../../../../src/modules/messageTable.ts'
import { readNested } from '../../../../src/modules/nestedMessages.ts'
import { isSdkError, type Outcome, type SdkError } from '../../../../src/modules/sdkError.ts'
import { type Address, toBech32 } from '../../../../src/primitives/address.ts'
import type { AnyValue, MessageType } from '../../../../src/primitives/protoSchema.ts'
import { Journal } from '../../../../src/state/journal.ts'
import { MemoryStateReader } from '../../state/memoryReader.ts'

export const COIN = 10n ** 18n
export const GENESIS_MS = Date.UTC(2026, 0, 1)
const DAY_MS = 86_400_000
/** of the genesis: 172800s and 86400s */
export const VOTING_MS = 2 * DAY_MS
export const EXPEDITED_MS = DAY_MS

export function account(number: number): Address {
  return new Uint8Array(20).fill(number)
}

/** Operators of the validators, with 100, 60 and 40 COIN of their own. */
export const VALIDATORS = [account(0xa1), account(0xa2), account(0xa3)] as const
const STAKES = [100n, 60n, 40n] as const
/** Holders of 1,000 COIN each. */
export const HOLDERS = [1, 2, 3, 4, 5].map(account)

export interface GovChainOptions {
  readonly gov?: Partial<Genesis['app_state']['gov']['params']>
  readonly change?: (genesis: Genesis) => void
}

/** A chain's native modules without transactions: messages run as transactions run them, blocks begin and end as ever. */
export class GovChain {
  readonly world = new Journal(new MemoryStateReader())
  #height = 1
  #timeMs = GENESIS_MS

  constructor({ gov = {}, change }: GovChainOptions = {}) {
    const key = (index: number) => new Uint8Array(32).fill(index + 1)
    const [first, ...others] = VALIDATORS.map((operator, index) => ({
      operator,
      selfDelegationAcoin: STAKES[index]! * COIN,
      consensusPublicKey: key(index),
      moniker: `validator ${index}`,
    }))
    const genesis = structuredClone(
      createGenesis({
        ...first!,
        wallet: first!.operator,
        genesisTimeMs: GENESIS_MS,
        chainId: 'coin_7628-1',
        otherValidators: others,
        fundedAccounts: HOLDERS.map((address) => ({ address, balanceAcoin: 1_000n * COIN })),
      }),
    )
    Object.assign(genesis.app_state.gov.params, gov)
    change?.(genesis)
    this.world.beginTransaction()
    applyGenesis(this.world, genesisStateOf(genesis))
    this.world.endTransaction({ clearEmpty: true })
  }

  get context(): ModuleContext {
    return { world: this.world, block: { height: this.#height, timeMs: this.#timeMs } }
  }

  get native() {
    return this.world.native
  }

  /** Runs a message as a transaction of one does, without fees; events are those of the message. */
  send<T>(type: MessageType<T>, fields: Partial<T>): Outcome<{ answer: Uint8Array; events: readonly NativeEvent[] }> {
    return this.run({ typeUrl: type.typeUrl, value: type.encode(type.create(fields)) })
  }

  run(message: AnyValue): Outcome<{ answer: Uint8Array; events: readonly NativeEvent[] }> {
    const nested = readNested(message, MESSAGES)
    if (isSdkError(nested)) return nested
    const { handler, value } = nested
    const invalid = handler.validate(value)
    if (invalid !== undefined) return invalid
    this.world.beginTransaction()
    this.world.checkpoint()
    const answer = handler.run(this.context, value)
    const events = [...this.world.events()]
    if (isSdkError(answer)) this.world.revert()
    else this.world.commit()
    this.world.endTransaction({ clearEmpty: true })
    return isSdkError(answer) ? answer : { answer, events }
  }

  /** Ends the block at a time after the one before and begins the next, as production does. @returns the events of its end */
  endBlock(afterMs: number): readonly NativeEvent[] {
    this.#timeMs += afterMs
    this.world.beginTransaction()
    endBlock(this.context)
    const events = [...this.world.events()]
    this.world.endTransaction({ clearEmpty: true })
    this.#height++
    this.world.beginTransaction()
    beginBlock(this.context, { lastCommit: { round: 0, votes: [] }, misbehaviour: [] })
    this.world.endTransaction({ clearEmpty: true })
    return events
  }

  /** Lets time pass without a block's end. */
  passTime(ms: number): void {
    this.#timeMs += ms
    this.#height++
  }

  proposal(id: bigint): Proposal {
    const proposal = getProposal(this.native, id)
    if (proposal === undefined) throw new Error(`there is no proposal ${id}`)
    return proposal
  }

  /** Submits a proposal of the first holder with 10 COIN, 50 if it is expedited, so that voting begins. */
  propose(fields: Partial<ReturnType<typeof MsgSubmitProposal.create>> = {}): bigint {
    const sent = succeeded(
      this.send(MsgSubmitProposal, {
        title: 'a title',
        summary: 'a summary',
        metadata: 'no JSON',
        proposer: toBech32(HOLDERS[0]!),
        initialDeposit: coinsOf((fields.expedited === true ? 50n : 10n) * COIN),
        ...fields,
      }),
    )
    return MsgSubmitProposalResponse.decode(sent.answer).proposalId
  }

  /** Broken invariants of governance; should be empty. */
  problems(): readonly string[] {
    return [...govInvariants(this.context)]
  }
}

/** @throws Error when it is an error */
export function succeeded<T>(outcome: Outcome<T>): T {
  if (isSdkError(outcome)) throw new Error(`${outcome.codespace}/${outcome.code}: ${outcome.message}`)
  return outcome
}

/** `codespace/code` of an error. */
export function codeOf(outcome: Outcome<unknown> | SdkError | undefined): string {
  return isSdkError(outcome) ? `${outcome.codespace}/${outcome.code}` : 'no error'
}

export function anyOf<T>(type: MessageType<T>, fields: Partial<T>): AnyValue {
  return { typeUrl: type.typeUrl, value: type.encode(type.create(fields)) }
}

/** `type: key=value, …` of events. */
export function eventTexts(events: readonly NativeEvent[]): readonly string[] {
  return events.map(
    ({ type, attributes }) => `${type}: ${attributes.map(({ key, value }) => `${key}=${value}`).join(', ')}`,
  )
}
