import { z } from 'zod'
import { STAKING_EVENT_KINDS } from '../database/stakingTables.ts'
import { address, amount, hash, height, share } from './shapes.ts'

/* What the API tells of validators and stake. Descriptions are what validators say of themselves. */

const time = z.iso.datetime()
const operator = z
  .string()
  .regex(/^coinvaloper1[02-9ac-hj-np-z]{38}$/)
  .describe('of the validator')

const validatorName = z.object({ operator, moniker: z.string() })

export const validator = validatorName.extend({
  address: address.describe('account of its operator'),
  consensusAddress: z.string().describe('40 hex digits, as in blocks'),
  status: z.enum(['bonded', 'unbonding', 'unbonded', 'removed']),
  isJailed: z.boolean(),
  isTombstoned: z.boolean().describe('it signed two blocks of one height, and can never come back'),
  tokens: amount.describe('acoin that are delegated to it'),
  power: z.int().describe('in the votes on blocks; 0: it takes no part'),
  commissionRate: share.describe('of rewards: "0.1" are 10 %'),
  delegators: z.int(),
  recentBlocks: z
    .string()
    .regex(/^[san-]*$/)
    .describe(
      'one letter a block, the newest at the end: s signed, a absent, n a vote for no block, - not in the validator set',
    ),
})

export const validatorDetail = validator.extend({
  identity: z.string(),
  website: z.string(),
  securityContact: z.string(),
  details: z.string(),
  maxCommissionRate: share,
  maxCommissionChange: share.describe('at most, in a day'),
  commissionChanged: time,
  minSelfDelegation: amount,
  selfDelegation: amount.describe('of its operator'),
  unbondingTime: time.nullable().describe('when its stake is free; null: it is not unbonding'),
  uptime: z
    .object({ blocks: z.int(), signed: z.int() })
    .describe('of the last 10,000 blocks: those in whose validator set it was, and those of them that it signed'),
  slashes: z.int(),
})

export const stakingEvent = z.object({
  height,
  transaction: hash.nullable().describe('null: at begin or end of the block'),
  kind: z.enum(STAKING_EVENT_KINDS),
  validator: validatorName,
  to: validatorName.nullable().describe('of a redelegation: where it goes'),
  delegator: address.nullable(),
  amount: amount.nullable(),
  reason: z.string().nullable().describe('of a slash'),
})

export const absence = z.object({
  first: height,
  last: height,
  kind: z.enum(['absent', 'nil']).describe('nil: a vote for no block'),
})

export const delegator = z.object({ address, amount })

const delegation = validatorName.extend({
  amount,
  rewards: amount.describe('not withdrawn yet, as the node has it now'),
})

const unbonding = validatorName.extend({
  amount,
  height: height.describe('of its begin'),
  completesAt: time,
})

const redelegation = z.object({ from: validatorName, to: validatorName, amount, height, completesAt: time })

export const accountStake = z.object({
  delegations: z.array(delegation),
  unbondings: z.array(unbonding).describe('asked of the node'),
  redelegations: z.array(redelegation).describe('that are not complete yet; asked of the node'),
  withdrawAddress: address.describe('where its rewards go'),
  totalDelegated: amount,
  totalRewards: amount,
})

export type Validator = z.infer<typeof validator>
export type ValidatorDetail = z.infer<typeof validatorDetail>
export type StakingEvent = z.infer<typeof stakingEvent>
export type Absence = z.infer<typeof absence>
export type Delegator = z.infer<typeof delegator>
export type AccountStake = z.infer<typeof accountStake>
