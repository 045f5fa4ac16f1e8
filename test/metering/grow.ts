import { GOV_AUTHORITY } from '../../src/modules/gov/authority.ts'
import type { AnyValue } from '../../src/primitives/protoSchema.ts'
import type { Journal } from '../../src/state/journal.ts'
import { account, COIN, coin, coins, consensusKey, message, operator, Stage, text, VALIDATORS } from './stage.ts'

/** Who runs the operations, and another account. */
export const ACTOR = 0
export const OTHER = 1
/** A validator that is jailed, and one that strangers do not delegate to. */
export const JAILED = 2
/** The first of the accounts that raise what the actor's operations meet. */
export const STRANGERS = 1_000
const DAY_MS = 86_400_000

const LIST_ENTRIES = 64
const PROPOSED_MESSAGES = 16

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

/** How many strangers have a validator. */
export const strangersValidators = (size: number): number => Math.floor(Math.min(size / 4, 40))

export function createValidator(number: number): AnyValue {
  return message('cosmos.staking.v1beta1.MsgCreateValidator', {
    description: { moniker: `validator of ${number}`, details: 'd'.repeat(200) },
    commission: { rate: '0.1', max_rate: '0.5', max_change_rate: '0.1' },
    min_self_delegation: '1',
    delegator_address: '',
    validator_address: operator(account(number)),
    pubkey: { '@type': '/cosmos.crypto.ed25519.PubKey', key: base64(consensusKey(number)) },
    value: coin(COIN),
  })
}

export const delegate = (number: number, validator = VALIDATORS[0]!, amount = COIN): AnyValue =>
  message('cosmos.staking.v1beta1.MsgDelegate', {
    delegator_address: text(number),
    validator_address: operator(validator),
    amount: coin(amount),
  })

export const undelegate = (number: number, validator = VALIDATORS[0]!, amount = COIN / 10n): AnyValue =>
  message('cosmos.staking.v1beta1.MsgUndelegate', {
    delegator_address: text(number),
    validator_address: operator(validator),
    amount: coin(amount),
  })

export const redelegate = (number: number, from = VALIDATORS[0]!, to = VALIDATORS[1]!): AnyValue =>
  message('cosmos.staking.v1beta1.MsgBeginRedelegate', {
    delegator_address: text(number),
    validator_src_address: operator(from),
    validator_dst_address: operator(to),
    amount: coin(COIN / 10n),
  })

export const spend = (): { readonly [name: string]: never } =>
  ({
    '@type': '/cosmos.distribution.v1beta1.MsgCommunityPoolSpend',
    authority: GOV_AUTHORITY,
    recipient: text(OTHER),
    amount: coins(1n),
  }) as never

export const propose = (number: number, deposit: bigint, messages = PROPOSED_MESSAGES): AnyValue =>
  message('cosmos.gov.v1.MsgSubmitProposal', {
    messages: Array.from({ length: messages }, spend),
    initial_deposit: coins(deposit),
    proposer: text(number),
    title: 'a title',
    summary: 's'.repeat(200),
  })

export const vote = (number: number, proposal: number | bigint): AnyValue =>
  message('cosmos.gov.v1.MsgVote', { proposal_id: proposal.toString(), voter: text(number), option: 1 })

export const deposit = (number: number, proposal: number | bigint): AnyValue =>
  message('cosmos.gov.v1.MsgDeposit', {
    proposal_id: proposal.toString(),
    depositor: text(number),
    amount: coins(COIN / 2n),
  })

/** Addresses in a list; the last of them is `last`. */
const list = (last: string, of: (address: Uint8Array) => string): readonly string[] => [
  ...Array.from({ length: LIST_ENTRIES - 2 }, (_, index) => of(account(500_000 + index))),
  last,
]

export const grantSend = (granter: number, grantee: number, expiration: string | null = null): AnyValue =>
  message('cosmos.authz.v1beta1.MsgGrant', {
    granter: text(granter),
    grantee: text(grantee),
    grant: {
      authorization: {
        '@type': '/cosmos.bank.v1beta1.SendAuthorization',
        spend_limit: coins(1_000n * COIN),
        allow_list: list(text(OTHER), (address) => text(address)),
      },
      expiration,
    },
  })

export const grantStake = (granter: number, grantee: number): AnyValue =>
  message('cosmos.authz.v1beta1.MsgGrant', {
    granter: text(granter),
    grantee: text(grantee),
    grant: {
      authorization: {
        '@type': '/cosmos.staking.v1beta1.StakeAuthorization',
        max_tokens: coin(1_000n * COIN),
        allow_list: { address: list(operator(VALIDATORS[0]!), operator) },
        authorization_type: 'AUTHORIZATION_TYPE_DELEGATE',
      },
    },
  })

export const revoke = (granter: number, grantee: number): AnyValue =>
  message('cosmos.authz.v1beta1.MsgRevoke', {
    granter: text(granter),
    grantee: text(grantee),
    msg_type_url: '/cosmos.bank.v1beta1.MsgSend',
  })

export const grantFees = (granter: number, grantee: number, expiration: string | null = null): AnyValue =>
  message('cosmos.feegrant.v1beta1.MsgGrantAllowance', {
    granter: text(granter),
    grantee: text(grantee),
    allowance: {
      '@type': '/cosmos.feegrant.v1beta1.AllowedMsgAllowance',
      allowance: { '@type': '/cosmos.feegrant.v1beta1.BasicAllowance', spend_limit: coins(COIN), expiration },
      allowed_messages: Array.from({ length: LIST_ENTRIES - 2 }, (_, index) => `/cosmos.bank.v1beta1.MsgSend${index}`),
    },
  })

const dateOf = (ms: number): string => new Date(ms).toISOString()

/** A proposal in its voting period with a vote and a deposit of every stranger, and the last one of `size` in its deposit period. */
export const VOTED = 1
export const lastProposal = (size: number): number => 2 * size

/**
 * A state in which strangers have raised all that they can: validators, delegations, unbondings, redelegations, proposals, votes, deposits,
 * authorizations and allowances of the largest size.
 */
export function grow(size: number): Stage {
  const stage = new Stage()
  const strangers = Array.from({ length: size }, (_, index) => STRANGERS + index)
  stage.fund(ACTOR, OTHER, JAILED, ...strangers)
  stage.send(...[JAILED, ...strangers.slice(0, strangersValidators(size))].map(createValidator))
  stage.height++
  stage.send(...VALIDATORS.map((validator) => delegate(ACTOR, validator, 1_000n * COIN)))
  stage.send(...strangers.map((number) => delegate(number)))
  for (let entry = 0; entry < 5; entry++) {
    stage.height++
    stage.timeMs += 400
    stage.send(undelegate(ACTOR), redelegate(ACTOR))
  }
  stage.send(...strangers.flatMap((number) => [undelegate(number), redelegate(number)]))
  stage.send(...strangers.map(() => propose(ACTOR, 10n * COIN)))
  stage.send(...strangers.map(() => propose(ACTOR, 2n * COIN)))
  stage.send(...strangers.flatMap((number) => [vote(number, VOTED), deposit(number, VOTED)]))
  const soon = dateOf(stage.timeMs + DAY_MS)
  stage.send(
    ...strangers.flatMap((number) => [
      grantSend(number, ACTOR),
      grantSend(ACTOR, number, soon),
      grantFees(number, ACTOR),
      grantFees(ACTOR, number, soon),
    ]),
  )
  stage.send(grantSend(OTHER, ACTOR), grantStake(OTHER, ACTOR), delegate(OTHER, VALIDATORS[0]!, 100n * COIN))
  stage.height++
  stage.timeMs += 400
  return stage
}

/** What strangers did before in the same block, and was undone, or deleted what was there. */
export function leaveDeadKeys(stage: Stage, world: Journal, size: number): void {
  const strangers = Array.from({ length: size }, (_, index) => STRANGERS + index)
  world.checkpoint()
  for (const number of strangers) {
    stage.run(world, grantSend(number, OTHER))
    stage.run(world, grantFees(number, OTHER))
    stage.run(world, delegate(number, VALIDATORS[2]!))
    stage.run(world, vote(number, VOTED + 1))
  }
  world.revert()
  for (const number of strangers) stage.run(world, revoke(number, ACTOR))
}
