import { AuthMsgUpdateParams as AuthUpdate } from '../../src/modules/auth/messages.ts'
import { AUTH_PARAMS } from '../../src/modules/auth/params.ts'
import { coinsOf } from '../../src/modules/coin.ts'
import { MsgUpdateParams as ConsensusUpdate } from '../../src/modules/consensus/messages.ts'
import { CONSENSUS_PARAMS } from '../../src/modules/consensus/params.ts'
import { MsgUpdateParams as DistributionUpdate } from '../../src/modules/distribution/messages.ts'
import { DISTRIBUTION_PARAMS } from '../../src/modules/distribution/params.ts'
import { MsgUpdateParams as FeeMarketUpdate } from '../../src/modules/feemarket/messages.ts'
import { FEEMARKET_PARAMS } from '../../src/modules/feemarket/params.ts'
import { GOV_PARAMS } from '../../src/modules/gov/params.ts'
import { MsgUpdateParams as GovUpdate } from '../../src/modules/gov/types.ts'
import { MsgUpdateParams as MintUpdate } from '../../src/modules/mint/messages.ts'
import { MINT_PARAMS } from '../../src/modules/mint/params.ts'
import { GOVERNANCE } from '../../src/modules/moduleAccounts.ts'
import { MsgUpdateParams as SlashingUpdate } from '../../src/modules/slashing/messages.ts'
import { SLASHING_PARAMS } from '../../src/modules/slashing/params.ts'
import { MsgUpdateParams as StakingUpdate } from '../../src/modules/staking/messages.ts'
import { STAKING_PARAMS } from '../../src/modules/staking/params.ts'
import { toBech32 } from '../../src/primitives/address.ts'
import { formatDecimal, ONE } from '../../src/primitives/decimal.ts'
import type { AnyValue } from '../../src/primitives/protoSchema.ts'
import type { NativeStore } from '../../src/state/world.ts'
import { anyOf } from '../native/signTransaction.ts'
import type { Random } from './random.ts'

const authority = toBech32(GOVERNANCE)
const SECOND = 1_000_000_000n
const DAY = 86_400n * SECOND
const YEAR = 365n * DAY
const FRACTIONS = [0n, 1n, ONE / 100n, ONE / 20n, ONE / 3n, ONE / 2n, ONE - 1n, ONE]
const PERIODS = [1_000_000n, SECOND, 3n * SECOND, 10n * SECOND, DAY, 36_500n * DAY]
const COIN = 10n ** 18n
const AMOUNTS = [1n, COIN / 2n, COIN, 10n * COIN, 10n ** 27n, 2n ** 128n]

/**
 * A change of one module's parameters: some of them have values from the ends and the middle of their ranges, and some values beyond
 * these, which governance refuses.
 */
export function randomUpdate(native: Pick<NativeStore, 'get'>, random: Random): AnyValue {
  const some = <T>(present: T, values: readonly T[]): T => (random.below(3) === 0 ? random.pick(values) : present)
  const text = (present: string, values: readonly bigint[]) => some(present, values.map(formatDecimal))
  const updates: readonly (() => AnyValue)[] = [
    () => {
      const now = STAKING_PARAMS.get(native)
      const params = {
        ...now,
        unbondingTime: some(now.unbondingTime, [0n, 1_000_000n, SECOND, 3n * SECOND, 10n * SECOND, YEAR, YEAR + 1n]),
        maxValidators: some(now.maxValidators, [0, 1, 2, 3, 5, 50, 51]),
        maxEntries: some(now.maxEntries, [0, 1, 7, 100, 101]),
        historicalEntries: some(now.historicalEntries, [0, 1_000_000, 0xffff_ffff]),
        minCommissionRate: some(now.minCommissionRate, FRACTIONS),
        keyRotationFee: some(
          now.keyRotationFee,
          AMOUNTS.map((amount) => ({ denom: 'acoin', amount })),
        ),
      }
      return anyOf(StakingUpdate, { authority, params })
    },
    () => {
      const now = SLASHING_PARAMS.get(native)
      const params = {
        signedBlocksWindow: some(now.signedBlocksWindow, [0n, 1n, 2n, 5n, 20n, 500_000n, 2n ** 62n]),
        minSignedPerWindow: some(now.minSignedPerWindow, FRACTIONS),
        downtimeJailDuration: some(now.downtimeJailDuration, [1n, SECOND, 2n * SECOND, 2n ** 63n - 1n]),
        slashFractionDoubleSign: some(now.slashFractionDoubleSign, FRACTIONS),
        slashFractionDowntime: some(now.slashFractionDowntime, FRACTIONS),
      }
      return anyOf(SlashingUpdate, { authority, params })
    },
    () => {
      const now = MINT_PARAMS.get(native)
      const params = {
        ...now,
        inflationRateChange: some(now.inflationRateChange, FRACTIONS),
        inflationMax: some(now.inflationMax, FRACTIONS),
        inflationMin: some(now.inflationMin, FRACTIONS),
        goalBonded: some(now.goalBonded, FRACTIONS),
        blocksPerYear: some(now.blocksPerYear, [1n, 1_000n, 1_001n, 78_894_000n, 10n ** 10n, 2n ** 62n]),
      }
      return anyOf(MintUpdate, { authority, params })
    },
    () => {
      const now = DISTRIBUTION_PARAMS.get(native)
      const params = {
        ...now,
        communityTax: some(now.communityTax, FRACTIONS),
        withdrawAddrEnabled: some(now.withdrawAddrEnabled, [true, false]),
      }
      return anyOf(DistributionUpdate, { authority, params })
    },
    () => {
      const now = GOV_PARAMS.get(native)
      const minDeposit = some(now.minDeposit, AMOUNTS.map(coinsOf))
      const params = {
        ...now,
        minDeposit,
        expeditedMinDeposit: coinsOf(minDeposit[0]!.amount * 2n),
        maxDepositPeriod: some(now.maxDepositPeriod, PERIODS),
        votingPeriod: some(now.votingPeriod, PERIODS),
        expeditedVotingPeriod: some(now.expeditedVotingPeriod, PERIODS),
        quorum: text(now.quorum, FRACTIONS),
        threshold: text(now.threshold, FRACTIONS),
        expeditedThreshold: text(now.expeditedThreshold, FRACTIONS),
        vetoThreshold: text(now.vetoThreshold, FRACTIONS),
        minInitialDepositRatio: text(now.minInitialDepositRatio, FRACTIONS),
        proposalCancelRatio: text(now.proposalCancelRatio, FRACTIONS),
        minDepositRatio: text(now.minDepositRatio, FRACTIONS),
        burnVoteQuorum: some(now.burnVoteQuorum, [true, false]),
        burnProposalDepositPrevote: some(now.burnProposalDepositPrevote, [true, false]),
        burnVoteVeto: some(now.burnVoteVeto, [true, false]),
      }
      return anyOf(GovUpdate, { authority, params })
    },
    () => {
      const now = AUTH_PARAMS.get(native)
      const params = {
        maxMemoCharacters: some(now.maxMemoCharacters, [1n, 10_000n, 2n ** 64n - 1n]),
        txSigLimit: some(now.txSigLimit, [1n, 100n, 101n]),
        txSizeCostPerByte: some(now.txSizeCostPerByte, [1n, 10n, 1_000n, 2n ** 64n - 1n]),
        sigVerifyCostEd25519: some(now.sigVerifyCostEd25519, [1n, 590n, 100_000n]),
        sigVerifyCostSecp256k1: some(now.sigVerifyCostSecp256k1, [1n, 1_000n, 100_000n, 2n ** 64n - 1n]),
      }
      return anyOf(AuthUpdate, { authority, params })
    },
    () => {
      const now = FEEMARKET_PARAMS.get(native)
      const params = {
        ...now,
        baseFeeChangeDenominator: some(now.baseFeeChangeDenominator, [1, 8, 240, 10_000, 0xffff_ffff]),
        elasticityMultiplier: some(now.elasticityMultiplier, [1, 2, 32, 0xffff_ffff]),
        minGasPrice: some(now.minGasPrice, [0n, 10n ** 9n * ONE, 10n ** 13n * ONE, 10n ** 27n * ONE]),
      }
      return anyOf(FeeMarketUpdate, { authority, params })
    },
    () => {
      const { block, ...now } = CONSENSUS_PARAMS.get(native)
      const maxGas = some(block!.maxGas, [1n, 2n ** 24n, 30_000_000n, 2n ** 30n, 2n ** 62n])
      return anyOf(ConsensusUpdate, { authority, ...now, block: { ...block!, maxGas } })
    },
  ]
  return random.pick(updates)()
}
