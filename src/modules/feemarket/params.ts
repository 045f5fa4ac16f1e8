import type { FeeMarket } from '../../chain/genesis/chainConfig.ts'
import type { Genesis } from '../../chain/genesis/genesisSchema.ts'
import { ONE, truncate } from '../../primitives/decimal.ts'
import { bool, decimal, defineMessage, int64, uint32, type ValueOf } from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import type { ModuleContext } from '../context.ts'
import { defineParams, type ParamsStore } from '../params.ts'
import { type SdkError, sdkError } from '../sdkError.ts'

/** cosmos.evm.feemarket.v1.Params */
export const FeeMarketParams = defineMessage('cosmos.evm.feemarket.v1.Params', {
  noBaseFee: bool(1),
  baseFeeChangeDenominator: uint32(2),
  elasticityMultiplier: uint32(3),
  enableHeight: int64(5),
  /** of the genesis block, acoin per gas; the running base fee is in the Ethereum headers */
  baseFee: decimal(6),
  /** the base fee never falls below it */
  minGasPrice: decimal(7),
  minGasMultiplier: decimal(8),
})
export type FeeMarketParams = ValueOf<typeof FeeMarketParams>

/** Under the key of x/feemarket/types/keys.go. */
export const FEEMARKET_PARAMS: ParamsStore<FeeMarketParams> = defineParams(
  'feemarket',
  new TextEncoder().encode('Params'),
  FeeMarketParams,
)

/** The highest prices, acoin per gas. With such a minimum a transfer costs 0.21 coins, so that governance can still lower it. */
const MAX_MIN_GAS_PRICE = 10n ** 13n * ONE
const MAX_BASE_FEE = 10n ** 18n * ONE
/** The base fee must fall again after it rose: by half within some 7,000 blocks, and it rises by at most 31 times in a block. */
const MAX_CHANGE_DENOMINATOR = 10_000
const MAX_ELASTICITY = 32

/**
 * Returns the fee market of the block after the one whose state this is.
 * @param genesis for the initial base fee, which no parameter changes
 */
export function feeMarketOf(native: Pick<NativeStore, 'get'>, genesis: Pick<FeeMarket, 'initialBaseFee'>): FeeMarket {
  const { baseFeeChangeDenominator, elasticityMultiplier, minGasPrice } = FEEMARKET_PARAMS.get(native)
  return {
    elasticity: BigInt(elasticityMultiplier),
    changeDenominator: BigInt(baseFeeChangeDenominator),
    minimumBaseFee: truncate(minGasPrice),
    initialBaseFee: genesis.initialBaseFee,
  }
}

/**
 * Returns the error of invalid parameters. The rules are those of Params.Validate of
 * x/feemarket/types/params.go. In addition, parameters that this chain does not support must have
 * the value that is true here: there is a base fee from the first block on, transactions pay for
 * the gas that they used, prices are whole acoin per gas.
 * @param current the parameters before; undefined at genesis
 */
export function validateFeeMarketParams(params: FeeMarketParams, current?: FeeMarketParams): SdkError | undefined {
  const { baseFee, minGasPrice } = params
  const problem = (() => {
    if (params.baseFeeChangeDenominator === 0) return 'base fee change denominator cannot be 0'
    if (params.baseFeeChangeDenominator > MAX_CHANGE_DENOMINATOR) {
      return `base fee change denominator cannot be more than ${MAX_CHANGE_DENOMINATOR}: ${params.baseFeeChangeDenominator}`
    }
    if (params.elasticityMultiplier === 0) return 'elasticity multiplier cannot be 0'
    if (params.elasticityMultiplier > MAX_ELASTICITY) {
      return `elasticity multiplier cannot be more than ${MAX_ELASTICITY}: ${params.elasticityMultiplier}`
    }
    if (baseFee < 0n) return `initial base fee cannot be negative: ${baseFee}`
    if (minGasPrice < 0n) return `value cannot be negative: ${minGasPrice}`
    if (minGasPrice > MAX_MIN_GAS_PRICE)
      return `min_gas_price cannot be more than ${MAX_MIN_GAS_PRICE / ONE} acoin per gas`
    if (baseFee > MAX_BASE_FEE) return `base_fee cannot be more than ${MAX_BASE_FEE / ONE} acoin per gas`
    if (minGasPrice % ONE !== 0n) return 'min_gas_price must be whole acoin per gas'
    if (params.noBaseFee) return 'no_base_fee must be false: this chain always has a base fee'
    if (params.enableHeight !== 0n) return 'enable_height must be 0: the base fee is there from the first block on'
    if (params.minGasMultiplier !== 0n) return 'min_gas_multiplier must be 0: transactions pay for the gas they used'
    if (current !== undefined && baseFee !== current.baseFee) {
      return "base_fee cannot be changed: it is the genesis block's, later ones follow from the blocks' gas"
    }
    return undefined
  })()
  return problem === undefined ? undefined : sdkError('invalidRequest', problem)
}

/**
 * Writes the module's part of block 0.
 * @throws Error when the genesis has invalid parameters
 */
export function initFeemarket(
  { world }: ModuleContext,
  { params: json }: Pick<Genesis['app_state']['feemarket'], 'params'>,
): void {
  const params = FeeMarketParams.fromJson(json, { typeOf: () => undefined }, 'app_state.feemarket.params')
  const problem = validateFeeMarketParams(params)
  if (problem !== undefined) throw new Error(`app_state.feemarket.params: ${problem.message}`)
  FEEMARKET_PARAMS.set(world.native, params)
}
