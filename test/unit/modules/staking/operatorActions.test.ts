import { describe, expect, it } from 'vitest'
import { getDelegation } from '../../../../src/modules/staking/delegations.ts'
import { delegate, undelegate } from '../../../../src/modules/staking/delegatorActions.ts'
import {
  createValidator,
  DO_NOT_MODIFY,
  editValidator,
  type NewValidator,
  type ValidatorEdit,
} from '../../../../src/modules/staking/operatorActions.ts'
import { STAKING_PARAMS } from '../../../../src/modules/staking/params.ts'
import { consensusAddressOf, getOperator, getValidatorByConsensus } from '../../../../src/modules/staking/validators.ts'
import { decimalOf, ONE } from '../../../../src/primitives/decimal.ts'
import { account, COIN, ok, StakingChain } from '../../../support/modules/stakingChain.ts'

const A = account(1)
const ANN = account(8)
const BOB = account(9)
const PERCENT = ONE / 100n
const HOUR_MS = 3_600_000
const DESCRIPTION = { moniker: 'ann', identity: 'i', website: 'w', securityContact: 's', details: 'd' }
const KEEP = {
  moniker: DO_NOT_MODIFY,
  identity: DO_NOT_MODIFY,
  website: DO_NOT_MODIFY,
  securityContact: DO_NOT_MODIFY,
  details: DO_NOT_MODIFY,
}

const ANNS: NewValidator = {
  operator: ANN,
  publicKey: new Uint8Array(32).fill(5),
  description: DESCRIPTION,
  commission: { rate: 5n * PERCENT, maxRate: 20n * PERCENT, maxChangeRate: 2n * PERCENT },
  minSelfDelegation: 2n * COIN,
  amount: 3n * COIN,
}

function chain(): StakingChain {
  const net = new StakingChain({ validators: [{ operator: A, stake: 10n * COIN }], holders: [ANN, BOB] })
  net.block()
  net.begin()
  return net
}

describe('creating a validator', () => {
  it('delegates to it, and consensus hears of it at the end of the block', () => {
    const net = chain()
    expect(createValidator(net.context, ANNS)).toBeUndefined()
    const { native } = net.context.world
    expect(net.validator(ANN)).toEqual({
      operator: ANN,
      publicKey: ANNS.publicKey,
      jailed: false,
      status: 'unbonded',
      tokens: 3n * COIN,
      delegatorShares: decimalOf(3n * COIN),
      description: DESCRIPTION,
      unbondingHeight: 0,
      unbondingTimeMs: 0,
      commission: { ...ANNS.commission, updateTimeMs: net.context.block.timeMs },
      minSelfDelegation: 2n * COIN,
      unbondingIds: [],
    })
    expect(getDelegation(native, ANN, ANN)!.shares).toBe(decimalOf(3n * COIN))
    expect(getOperator(native, consensusAddressOf(ANNS))).toEqual(ANN)
    const types = net.context.world.events().map(({ type }) => type)
    expect(types.slice(-3)).toEqual(['coin_spent', 'coin_received', 'create_validator'])
    net.check()
    net.end()
    expect(net.validator(ANN).status).toBe('bonded')
    expect(net.powers(4).map(({ power }) => power)).toEqual([10n, 3n])
    net.check()
  })

  it.each<[string, Partial<NewValidator>, { codespace: string; code: number }]>([
    ['an operator that has one', { operator: A, amount: 2n * COIN }, { codespace: 'staking', code: 4 }],
    ['no key', { publicKey: new Uint8Array(0) }, { codespace: 'staking', code: 39 }],
    ['a short key', { publicKey: new Uint8Array(31) }, { codespace: 'sdk', code: 8 }],
    ['no stake', { amount: 0n }, { codespace: 'sdk', code: 18 }],
    ['more stake than there is', { amount: 10n ** 30n }, { codespace: 'sdk', code: 5 }],
    ['less stake than it promises', { amount: 2n * COIN - 1n }, { codespace: 'staking', code: 16 }],
    ['a promise of nothing', { minSelfDelegation: 0n }, { codespace: 'sdk', code: 18 }],
    ['no description', { description: emptyDescription() }, { codespace: 'sdk', code: 18 }],
    ['a long moniker', { description: { ...DESCRIPTION, moniker: 'ä'.repeat(36) } }, { codespace: 'sdk', code: 18 }],
    ['too little commission', commission({ rate: PERCENT - 1n }), { codespace: 'staking', code: 40 }],
    ['negative commission', commission({ rate: -1n }), { codespace: 'staking', code: 9 }],
    ['a negative highest rate', commission({ maxRate: -1n }), { codespace: 'staking', code: 9 }],
    ['a highest rate above 1', commission({ maxRate: ONE + 1n }), { codespace: 'staking', code: 10 }],
    ['more than its highest rate', commission({ rate: 21n * PERCENT }), { codespace: 'staking', code: 11 }],
    ['a negative change', commission({ maxChangeRate: -1n }), { codespace: 'staking', code: 13 }],
    ['a change above the rate', commission({ maxChangeRate: 21n * PERCENT }), { codespace: 'staking', code: 14 }],
  ])('refuses %s', (_, changed, expected) => {
    const net = chain()
    const { native } = net.context.world
    STAKING_PARAMS.set(native, { ...STAKING_PARAMS.get(native), minCommissionRate: PERCENT })
    expect(createValidator(net.context, { ...ANNS, ...changed })).toMatchObject(expected)
  })

  it('with the longest parts of a description is fine', () => {
    const description = {
      moniker: 'ä'.repeat(35),
      identity: 'i'.repeat(3000),
      website: 'w'.repeat(140),
      securityContact: 's'.repeat(140),
      details: 'd'.repeat(280),
    }
    expect(createValidator(chain().context, { ...ANNS, description })).toBeUndefined()
  })

  it('refuses the key of another one, until that is removed', () => {
    const net = chain()
    expect(createValidator(net.context, ANNS)).toBeUndefined()
    const bobs = { ...ANNS, operator: BOB }
    expect(createValidator(net.context, bobs)).toMatchObject({ codespace: 'staking', code: 5 })
    // Unbonded and without stake, it is removed at once; its key stays known as its own until somebody has it again.
    ok(undelegate(net.context, { delegator: ANN, operator: ANN, amount: 3n * COIN }))
    const { native } = net.context.world
    const address = consensusAddressOf(ANNS)
    expect(getValidatorByConsensus(native, address)).toBeUndefined()
    expect(getOperator(native, address)).toEqual(ANN)
    net.check()
    expect(createValidator(net.context, bobs)).toBeUndefined()
    expect(getValidatorByConsensus(native, address)).toMatchObject({ operator: BOB })
    // And its operator may begin anew.
    expect(createValidator(net.context, { ...ANNS, publicKey: new Uint8Array(32).fill(6) })).toBeUndefined()
    net.check()
  })
})

describe('editing a validator', () => {
  const edit = (changed: Partial<ValidatorEdit>): ValidatorEdit => ({
    operator: ANN,
    description: KEEP,
    commissionRate: undefined,
    minSelfDelegation: undefined,
    ...changed,
  })
  /** A day after Ann created hers. */
  function created(hours = 24): StakingChain {
    const net = chain()
    expect(createValidator(net.context, ANNS)).toBeUndefined()
    net.end()
    net.wait(hours * HOUR_MS)
    net.begin()
    return net
  }

  it('changes what is named', () => {
    const net = created()
    const timeMs = net.context.block.timeMs
    const changes = edit({
      description: { ...KEEP, website: 'x', details: '' },
      commissionRate: 7n * PERCENT,
      minSelfDelegation: 3n * COIN,
    })
    expect(editValidator(net.context, changes)).toBeUndefined()
    expect(net.validator(ANN)).toMatchObject({
      description: { ...DESCRIPTION, website: 'x', details: '' },
      commission: { ...ANNS.commission, rate: 7n * PERCENT, updateTimeMs: timeMs },
      minSelfDelegation: 3n * COIN,
    })
    const seconds = Math.floor(timeMs / 1000)
    const rates = 'rate:"70000000000000000" max_rate:"200000000000000000" max_change_rate:"20000000000000000" '
    expect(net.context.world.events().at(-1)).toEqual({
      type: 'edit_validator',
      attributes: [
        {
          key: 'commission_rate',
          value: `commission_rates:<${rates}> update_time:<seconds:${seconds} nanos:${(timeMs % 1000) * 1_000_000} > `,
        },
        { key: 'min_self_delegation', value: '3000000000000000000' },
      ],
    })
    net.check()
  })

  it('without a rate leaves the day of its last change', () => {
    const net = created()
    const before = net.validator(ANN).commission
    expect(editValidator(net.context, edit({}))).toBeUndefined()
    expect(net.validator(ANN).commission).toEqual(before)
  })

  it('lowers the rate as far as one likes', () => {
    const net = created()
    expect(editValidator(net.context, edit({ commissionRate: 0n }))).toBeUndefined()
    expect(net.validator(ANN).commission.rate).toBe(0n)
  })

  it.each<[string, Partial<ValidatorEdit>, { codespace: string; code: number }]>([
    ['nobody', { operator: BOB }, { codespace: 'staking', code: 3 }],
    ['no description', { description: emptyDescription() }, { codespace: 'sdk', code: 18 }],
    ['a long part', { description: { ...KEEP, website: 'w'.repeat(141) } }, { codespace: 'sdk', code: 18 }],
    ['a rate above 1', { commissionRate: ONE + 1n }, { codespace: 'sdk', code: 18 }],
    ['a negative rate', { commissionRate: -1n }, { codespace: 'sdk', code: 18 }],
    ['a rate above the highest', { commissionRate: 21n * PERCENT }, { codespace: 'staking', code: 11 }],
    ['a steep rise', { commissionRate: 7n * PERCENT + 1n }, { codespace: 'staking', code: 15 }],
    ['the same promise', { minSelfDelegation: 2n * COIN }, { codespace: 'staking', code: 17 }],
    ['a promise of nothing', { minSelfDelegation: 0n }, { codespace: 'sdk', code: 18 }],
    ['a promise of more than it has', { minSelfDelegation: 3n * COIN + 1n }, { codespace: 'staking', code: 16 }],
  ])('refuses %s', (_, changed, expected) => {
    expect(editValidator(created().context, edit(changed))).toMatchObject(expected)
  })

  it('refuses a rate within a day of the last, and below what governance allows', () => {
    const net = created(23)
    const lower = edit({ commissionRate: 4n * PERCENT })
    expect(editValidator(net.context, lower)).toMatchObject({ codespace: 'staking', code: 12 })
    const { native } = net.context.world
    STAKING_PARAMS.set(native, { ...STAKING_PARAMS.get(native), minCommissionRate: 5n * PERCENT })
    expect(editValidator(net.context, lower)).toMatchObject({ codespace: 'sdk', code: 18 })
  })

  it('promises what the operator must keep from then on', () => {
    const net = created()
    ok(delegate(net.context, { delegator: BOB, operator: ANN, amount: COIN }))
    // Others' stake counts for the promise, as it does in the SDK, but not for keeping it.
    expect(editValidator(net.context, edit({ minSelfDelegation: 4n * COIN }))).toBeUndefined()
    expect(net.validator(ANN).jailed).toBe(false)
    ok(undelegate(net.context, { delegator: ANN, operator: ANN, amount: 1n }))
    expect(net.validator(ANN).jailed).toBe(true)
    net.check()
  })
})

function commission(changed: Partial<NewValidator['commission']>): Partial<NewValidator> {
  return { commission: { ...ANNS.commission, ...changed } }
}

function emptyDescription() {
  return { moniker: '', identity: '', website: '', securityContact: '', details: '' }
}
