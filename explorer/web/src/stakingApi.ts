import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { Absence, AccountStake, Delegator, StakingEvent, Validator, ValidatorDetail } from '../../stake/shapes.ts'
import { get, type Page, pageQuery } from './api.ts'

/* Validators and stake, as in api.ts. Lists of events and delegators are asked for with tokenListQuery. */

export type { Absence, AccountStake, Delegator, StakingEvent, Validator }

const REFRESH_MS = 5_000

/** Validators of a page: enough for the whole validator set of most chains. */
const VALIDATORS = 100

export function validatorsQuery(state: 'active' | 'inactive', before?: string) {
  return queryOptions({
    queryKey: ['validators', state, before ?? 'first'],
    queryFn: ({ signal }) =>
      get<Page<Validator, string>>(`validators${pageQuery(before, VALIDATORS)}&state=${state}`, signal),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  })
}

/** @param id operator or consensus key, in any spelling */
export function validatorQuery(id: string) {
  return queryOptions({
    queryKey: ['validator', id],
    queryFn: ({ signal }) => get<ValidatorDetail>(`validators/${encodeURIComponent(id)}`, signal),
    refetchInterval: REFRESH_MS,
  })
}

export function absencesQuery(operator: string, before?: number) {
  return queryOptions({
    queryKey: ['absences', operator, before ?? 'newest'],
    queryFn: ({ signal }) => get<Page<Absence>>(`validators/${operator}/absences${pageQuery(before, 25)}`, signal),
    placeholderData: keepPreviousData,
  })
}

export function stakeQuery(address: string) {
  return queryOptions({
    queryKey: ['stake', address],
    queryFn: ({ signal }) => get<AccountStake>(`addresses/${address}/stake`, signal),
    refetchInterval: REFRESH_MS,
  })
}
