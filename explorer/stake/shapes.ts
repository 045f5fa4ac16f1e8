import { z } from 'zod'
import { address, amount, hash, height, share, time } from '../api/shapes.ts'
import { STAKING_EVENT_KINDS } from './tables.ts'

/* Validators and stake as the API shows them. Validators write their own descriptions. */

const operator = z
  .string()
  .regex(/^coinvaloper1[02-9ac-hj-np-z]{38}$/)
  .describe('operator address of the validator')

const validatorName = z.object({ operator, moniker: z.string() })

export const validator = validatorName.extend({
  address: address.describe('account of the operator'),
  consensusAddress: z.string().describe('40 hex digits, as in blocks'),
  status: z.enum(['bonded', 'unbonding', 'unbonded', 'removed']),
  isJailed: z.boolean(),
  isTombstoned: z.boolean().describe('true: permanently jailed, because it signed two blocks of one height'),
  tokens: amount.describe('delegated acoin'),
  power: z.int().describe('voting power in consensus; 0: not in the validator set'),
  commissionRate: share.describe('share of the rewards: "0.1" is 10 %'),
  delegators: z.int(),
  recentBlocks: z
    .string()
    .regex(/^[san-]*$/)
    .describe('one letter per block, newest last: s signed, a absent, n voted nil, - not in the validator set'),
})

export const validatorDetail = validator.extend({
  identity: z.string(),
  website: z.string(),
  securityContact: z.string(),
  details: z.string(),
  maxCommissionRate: share,
  maxCommissionChange: share.describe('maximum change per day'),
  commissionChanged: time,
  minSelfDelegation: amount,
  selfDelegation: amount.describe("the operator's own stake"),
  unbondingTime: time.nullable().describe('when unbonding ends; null: not unbonding'),
  uptime: z
    .object({ blocks: z.int(), signed: z.int() })
    .describe('blocks among the last 10,000 for which it was in the validator set, and how many of them it signed'),
  slashes: z.int(),
})

export const stakingEvent = z.object({
  height,
  transaction: hash.nullable().describe('null: at the start or end of the block'),
  kind: z.enum(STAKING_EVENT_KINDS),
  validator: validatorName,
  to: validatorName.nullable().describe('destination of a redelegation'),
  delegator: address.nullable(),
  amount: amount.nullable(),
  reason: z.string().nullable().describe('reason of a slash'),
})

export const absence = z.object({
  first: height,
  last: height,
  kind: z.enum(['absent', 'nil']).describe('nil: voted nil'),
})

export const delegator = z.object({ address, amount })

const delegation = validatorName.extend({
  amount,
  rewards: amount.describe('rewards not withdrawn yet, requested from the node'),
})

const unbonding = validatorName.extend({
  amount,
  height: height.describe('height at which it started'),
  completesAt: time,
})

const redelegation = z.object({ from: validatorName, to: validatorName, amount, height, completesAt: time })

export const accountStake = z.object({
  delegations: z.array(delegation),
  unbondings: z.array(unbonding).describe('requested from the node'),
  redelegations: z.array(redelegation).describe('entries that are not complete yet, requested from the node'),
  withdrawAddress: address.describe('address that receives the rewards'),
  totalDelegated: amount,
  totalRewards: amount,
})

export type Validator = z.infer<typeof validator>
export type ValidatorDetail = z.infer<typeof validatorDetail>
export type StakingEvent = z.infer<typeof stakingEvent>
export type Absence = z.infer<typeof absence>
export type Delegator = z.infer<typeof delegator>
export type AccountStake = z.infer<typeof accountStake>
