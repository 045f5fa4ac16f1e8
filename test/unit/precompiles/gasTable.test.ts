import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bank } from '../../../src/modules/bank/precompile/bank.ts'
import { DISTRIBUTION_GAS } from '../../../src/modules/distribution/messages.ts'
import { distribution } from '../../../src/modules/distribution/precompile/distribution.ts'
import { GOV_GAS } from '../../../src/modules/gov/messages.ts'
import { governance } from '../../../src/modules/gov/precompile/governance.ts'
import { SLASHING_GAS } from '../../../src/modules/slashing/messages.ts'
import { slashing } from '../../../src/modules/slashing/precompile/slashing.ts'
import { STAKING_GAS } from '../../../src/modules/staking/messages.ts'
import { staking } from '../../../src/modules/staking/precompile/staking.ts'
import { bech32 } from '../../../src/precompiles/bech32.ts'

/** Gas of the message that a function runs, where the tables of the modules name it otherwise. */
const MESSAGE_GAS: Readonly<Record<string, bigint>> = {
  ...STAKING_GAS,
  ...DISTRIBUTION_GAS,
  ...GOV_GAS,
  ...SLASHING_GAS,
  redelegate: STAKING_GAS.beginRedelegate,
  cancelUnbondingDelegation: STAKING_GAS.cancelUnbonding,
  withdrawDelegatorRewards: DISTRIBUTION_GAS.withdrawRewards,
  withdrawValidatorCommission: DISTRIBUTION_GAS.withdrawCommission,
  depositValidatorRewardsPool: DISTRIBUTION_GAS.depositRewards,
  voteWeighted: GOV_GAS.vote,
  // for each validator
  claimRewards: 0n,
  hexToBech32: 0n,
  bech32ToHex: 0n,
}

/** Rows of docs/precompiles.md: contract, function, gas. */
function documented(): string[] {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/precompiles.md'), 'utf8')
  let contract = ''
  const rows: string[] = []
  for (const [, bold, name, gas] of page.matchAll(/^\| (?:\*\*(\w+)\*\*|(\w+)) \|(?: ([\d,]+))? \|.*$/gm)) {
    if (bold !== undefined) contract = bold
    else if (gas !== undefined) rows.push(`${contract} ${name} ${gas.replaceAll(',', '')}`)
  }
  return rows
}

describe('docs/precompiles.md', () => {
  it('has the gas of every function', () => {
    const rows = Object.entries({ bech32, bank, staking, distribution, gov: governance, slashing }).flatMap(
      ([contract, { functions }]) =>
        functions.map(({ name, gas, mutability }) => {
          const message = mutability === 'view' ? 0n : MESSAGE_GAS[name]
          return `${contract} ${name} ${gas + message!}`
        }),
    )
    expect(documented().sort()).toEqual(rows.sort())
  })
})
