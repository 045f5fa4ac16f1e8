import { expect, it } from 'vitest'
import { createGenesis } from '../../../src/chain/genesis/createGenesis.ts'
import type { Genesis } from '../../../src/chain/genesis/genesisSchema.ts'
import { applyGenesis, genesisStateOf } from '../../../src/execution/genesisBlock.ts'
import { AUTH_PARAMS, validateAuthParams } from '../../../src/modules/auth/params.ts'
import { FEEMARKET_PARAMS, validateFeeMarketParams } from '../../../src/modules/feemarket/params.ts'
import { MINT_PARAMS, validateMintParams } from '../../../src/modules/mint/params.ts'
import type { ParamsStore } from '../../../src/modules/params.ts'
import type { SdkError } from '../../../src/modules/sdkError.ts'
import { SLASHING_PARAMS, validateSlashingParams } from '../../../src/modules/slashing/params.ts'
import { STAKING_PARAMS, validateStakingParams } from '../../../src/modules/staking/params.ts'
import { parseDecimal } from '../../../src/primitives/decimal.ts'
import { Journal } from '../../../src/state/journal.ts'
import { MemoryStateReader } from '../../support/state/memoryReader.ts'

const genesis = (): Genesis =>
  createGenesis({
    genesisTimeMs: 1_700_000_000_000,
    chainId: 'coin_76287-1',
    wallet: new Uint8Array(20).fill(1),
    selfDelegationAcoin: 10n ** 24n,
    consensusPublicKey: new Uint8Array(32).fill(7),
    moniker: 'test',
  })

/** @throws Error where block 0 cannot be made */
function apply(given: Genesis): Journal {
  const world = new Journal(new MemoryStateReader())
  applyGenesis(world, genesisStateOf(given))
  return world
}

type Module = 'staking' | 'slashing' | 'mint' | 'auth' | 'feemarket'
const VALIDATORS = {
  staking: [STAKING_PARAMS, validateStakingParams],
  slashing: [SLASHING_PARAMS, validateSlashingParams],
  mint: [MINT_PARAMS, validateMintParams],
  auth: [AUTH_PARAMS, validateAuthParams],
  feemarket: [FEEMARKET_PARAMS, validateFeeMarketParams],
} as unknown as Record<Module, [ParamsStore<Record<string, unknown>>, (params: unknown) => SdkError | undefined]>

const DECIMALS = new Set(['minGasPrice'])
/** A parameter, its largest value (or smallest, for `blocks_per_year`), and the next one. */
const CASES: readonly (readonly [
  module: Module,
  name: string,
  json: string,
  last: string | number,
  beyond: string | number,
])[] = [
  ['staking', 'maxEntries', 'max_entries', 100, 101],
  ['staking', 'historicalEntries', 'historical_entries', 1_000_000, 1_000_001],
  ['staking', 'unbondingTime', 'unbonding_time', '31536000s', '31536001s'],
  ['slashing', 'signedBlocksWindow', 'signed_blocks_window', '500000', '500001'],
  ['mint', 'blocksPerYear', 'blocks_per_year', '1000', '999'],
  ['mint', 'blocksPerYear', 'blocks_per_year', '10000000000', '10000000001'],
  ['auth', 'maxMemoCharacters', 'max_memo_characters', '10000', '10001'],
  ['auth', 'txSizeCostPerByte', 'tx_size_cost_per_byte', '1000', '1001'],
  ['auth', 'sigVerifyCostSecp256k1', 'sig_verify_cost_secp256k1', '100000', '100001'],
  ['auth', 'sigVerifyCostEd25519', 'sig_verify_cost_ed25519', '590', '589'],
  [
    'feemarket',
    'minGasPrice',
    'min_gas_price',
    '10000000000000.000000000000000000',
    '10000000000001.000000000000000000',
  ],
  ['feemarket', 'elasticityMultiplier', 'elasticity_multiplier', 32, 33],
  ['feemarket', 'baseFeeChangeDenominator', 'base_fee_change_denominator', 10_000, 10_001],
]

function readValue(name: string, json: string | number): unknown {
  if (typeof json === 'number') return json
  if (DECIMALS.has(name)) return parseDecimal(json)
  return json.endsWith('s') ? BigInt(json.slice(0, -1)) * 1_000_000_000n : BigInt(json)
}

it.each(CASES)('bound %s.%s for governance and in a genesis', (module, name, json, last, beyond) => {
  const [store, validate] = VALIDATORS[module]
  const present = store.get(apply(genesis()).native)
  expect(validate({ ...present, [name]: readValue(name, last) })).toBeUndefined()
  expect(validate({ ...present, [name]: readValue(name, beyond) })).toMatchObject({ codespace: 'sdk', code: 18 })
  const withValue = (value: string | number): Genesis => {
    const changed = structuredClone(genesis())
    Object.assign(changed.app_state[module].params, { [json]: value })
    return changed
  }
  expect(() => apply(withValue(last))).not.toThrow()
  expect(() => apply(withValue(beyond))).toThrow(`app_state.${module}.params`)
})
