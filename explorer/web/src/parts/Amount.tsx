import { useQuery } from '@tanstack/react-query'
import { statusQuery } from '../api.ts'
import { formatUnits } from '../format.ts'

/** An amount of the coin with its symbol; base units on hovering. */
export function Amount({ acoin, digits = 6 }: { readonly acoin: string; readonly digits?: number }) {
  const { data } = useQuery(statusQuery)
  return (
    <span className="amount" title={`${acoin} acoin`}>
      {formatUnits(acoin, 18, digits)} <span className="symbol">{data?.coinSymbol ?? 'COIN'}</span>
    </span>
  )
}
