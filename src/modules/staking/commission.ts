import { type Decimal, formatDecimal, ONE } from '../../primitives/decimal.ts'
import type { SdkError } from '../sdkError.ts'
import { stakingError } from './errors.ts'
import type { CommissionRates } from './types.ts'
import type { ValidatorCommission } from './validators.ts'

const DAY_MS = 86_400_000

/** What a new validator's commission must be (x/staking/types/commission.go, CommissionRates.Validate). */
export function checkCommissionRates({ rate, maxRate, maxChangeRate }: CommissionRates): SdkError | undefined {
  if (maxRate < 0n) return stakingError('commissionNegative')
  if (maxRate > ONE) return stakingError('commissionHuge')
  if (rate < 0n) return stakingError('commissionNegative')
  if (rate > maxRate) return stakingError('commissionGTMaxRate')
  if (maxChangeRate < 0n) return stakingError('commissionChangeRateNegative')
  if (maxChangeRate > maxRate) return stakingError('commissionChangeRateGTMaxRate')
  return undefined
}

/** Whether a rate may replace that of `commission` now (Commission.ValidateNewRate): once a day, falling as far as one likes. */
export function checkNewRate(commission: ValidatorCommission, rate: Decimal, nowMs: number): SdkError | undefined {
  if (nowMs - commission.updateTimeMs < DAY_MS) return stakingError('commissionUpdateTime')
  if (rate < 0n) return stakingError('commissionNegative')
  if (rate > commission.maxRate) return stakingError('commissionGTMaxRate')
  if (rate - commission.rate > commission.maxChangeRate) return stakingError('commissionGTMaxChangeRate')
  return undefined
}

/** The rate that governance sets a floor for. */
export function checkMinimumRate(rate: Decimal, minimum: Decimal): SdkError | undefined {
  if (rate >= minimum) return undefined
  const reason = `cannot set validator commission to less than minimum rate of ${formatDecimal(minimum)}`
  return stakingError('commissionLTMinRate', reason)
}

/** As the event of MsgEditValidator shows it: gogoproto's text form of the SDK's Commission. */
export function commissionText({ rate, maxRate, maxChangeRate, updateTimeMs }: ValidatorCommission): string {
  const rates = `rate:"${rate}" max_rate:"${maxRate}" max_change_rate:"${maxChangeRate}" `
  const seconds = Math.floor(updateTimeMs / 1000)
  const nanos = (updateTimeMs - seconds * 1000) * 1_000_000
  const time = `${seconds === 0 ? '' : `seconds:${seconds} `}${nanos === 0 ? '' : `nanos:${nanos} `}`
  return `commission_rates:<${rates}> update_time:<${time}> `
}
