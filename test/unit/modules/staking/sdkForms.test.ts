import { Validator as TheirValidator } from 'cosmjs-types/cosmos/staking/v1beta1/staking'
import { expect, it } from 'vitest'
import { MODULE_DEFAULTS } from '../../../../src/chain/genesis/createGenesis.ts'
import { stakingGenesisOf } from '../../../../src/modules/staking/initStaking.ts'
import {
  delegationToSdk,
  redelegationToSdk,
  unbondingToSdk,
  validatorFromSdk,
  validatorToSdk,
} from '../../../../src/modules/staking/sdkForms.ts'
import { SdkValidator } from '../../../../src/modules/staking/types.ts'
import type { BondStatus, Validator } from '../../../../src/modules/staking/validators.ts'
import { Ed25519PubKey } from '../../../../src/modules/tx/publicKey.ts'
import { BECH32_OPERATOR, toBech32 } from '../../../../src/primitives/address.ts'
import { decimalOf, ONE } from '../../../../src/primitives/decimal.ts'
import { account, COIN } from '../../../support/modules/stakingChain.ts'

const A = account(1)
const B = account(2)
const ANN = account(8)
const TIME_MS = 1_767_225_600_400

const validator = (status: BondStatus): Validator => ({
  operator: A,
  publicKey: new Uint8Array(32).fill(5),
  jailed: status !== 'bonded',
  status,
  tokens: 3n * COIN,
  delegatorShares: decimalOf(4n * COIN),
  description: { moniker: 'm', identity: 'i', website: 'w', securityContact: 's', details: 'd' },
  unbondingHeight: 17,
  unbondingTimeMs: TIME_MS,
  commission: { rate: ONE / 10n, maxRate: ONE, maxChangeRate: ONE / 20n, updateTimeMs: TIME_MS - 1 },
  minSelfDelegation: 2n,
  unbondingIds: [1n, 7n],
})

it.each([
  ['unbonded', 1],
  ['unbonding', 2],
  ['bonded', 3],
] as const)('an %s validator is the SDK’s, and back', (status, number) => {
  const sdk = validatorToSdk(validator(status))
  expect(TheirValidator.decode(SdkValidator.encode(sdk))).toMatchObject({
    operatorAddress: toBech32(A, BECH32_OPERATOR),
    consensusPubkey: { typeUrl: '/cosmos.crypto.ed25519.PubKey' },
    status: number,
    tokens: '3000000000000000000',
    unbondingHeight: 17n,
    unbondingTime: { seconds: 1_767_225_600n, nanos: 400_000_000 },
  })
  expect(validatorFromSdk(sdk)).toEqual(validator(status))
})

it('a validator of no status is none', () => {
  expect(() => validatorFromSdk({ ...validatorToSdk(validator('bonded')), status: 0 })).toThrow(TypeError)
})

it('delegations, redelegations and unbonding coins say what they are worth', () => {
  const price = validator('bonded')
  expect(delegationToSdk({ delegator: ANN, operator: A, shares: decimalOf(3n) }, price)).toEqual({
    delegation: {
      delegatorAddress: toBech32(ANN),
      validatorAddress: toBech32(A, BECH32_OPERATOR),
      shares: decimalOf(3n),
    },
    // 2.25
    balance: { denom: 'acoin', amount: 2n },
  })
  const unbonding = { creationHeight: 5, completionTimeMs: TIME_MS, initialBalance: 9n, balance: 8n, id: 3n }
  const time = BigInt(TIME_MS) * 1_000_000n
  expect(unbondingToSdk({ delegator: ANN, operator: A, entries: [unbonding] }).entries).toEqual([
    {
      creationHeight: 5n,
      completionTime: time,
      initialBalance: 9n,
      balance: 8n,
      unbondingId: 3n,
      unbondingOnHoldRefCount: 0n,
    },
  ])
  const entry = {
    creationHeight: 5,
    completionTimeMs: TIME_MS,
    initialBalance: 9n,
    sharesDestination: decimalOf(2n),
    id: 3n,
  }
  const redelegation = { delegator: ANN, source: B, destination: A, entries: [entry] }
  expect(redelegationToSdk(redelegation, price)).toMatchObject({
    redelegation: { validatorSrcAddress: toBech32(B, BECH32_OPERATOR), entries: [] },
    entries: [{ redelegationEntry: { sharesDst: decimalOf(2n), completionTime: time }, balance: 1n }],
  })
})

it('the section of a genesis is read', () => {
  const delegation = {
    delegator_address: toBech32(ANN),
    validator_address: toBech32(A, BECH32_OPERATOR),
    shares: '4000000000000000000.000000000000000000',
  }
  const bonded = validator('bonded')
  const json = SdkValidator.toJson(validatorToSdk(bonded), { typeOf: () => Ed25519PubKey })
  const section = { ...MODULE_DEFAULTS.staking, validators: [json as never], delegations: [delegation] }
  expect(stakingGenesisOf(section)).toEqual({
    params: {
      unbondingTime: 1_814_400_000_000_000n,
      maxValidators: 50,
      maxEntries: 7,
      historicalEntries: 10_000,
      bondDenom: 'acoin',
      minCommissionRate: 0n,
    },
    validators: [bonded],
    delegations: [{ delegator: ANN, operator: A, shares: decimalOf(4n * COIN) }],
  })
})
