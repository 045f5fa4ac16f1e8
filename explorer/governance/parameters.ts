import type { Api } from '../api/api.ts'
import { parameters } from './shapes.ts'

/** Paths at the node of its modules' parameters, by module. */
const PATHS = {
  auth: '/cosmos/auth/v1beta1/params',
  bank: '/cosmos/bank/v1beta1/params',
  consensus: '/cosmos/consensus/v1/params',
  distribution: '/cosmos/distribution/v1beta1/params',
  erc20: '/cosmos/evm/erc20/v1/params',
  evm: '/cosmos/evm/vm/v1/params',
  feemarket: '/cosmos/evm/feemarket/v1/params',
  gov: '/cosmos/gov/v1/params',
  mint: '/cosmos/mint/v1beta1/params',
  slashing: '/cosmos/slashing/v1beta1/params',
  staking: '/cosmos/staking/v1beta1/params',
} as const

/** Only proposals change parameters. */
const MAX_AGE_MS = 5_000

/** The parameters of all modules, as they are now. */
export function addParameters(app: Api['app'], { node, cache }: Pick<Api, 'node' | 'cache'>): void {
  app.get(
    '/parameters',
    {
      schema: { tags: ['governance'], summary: 'Current parameters of all modules', response: { 200: parameters } },
    },
    () =>
      cache.get('parameters', MAX_AGE_MS, async () => ({
        modules: await Promise.all(
          Object.entries(PATHS).map(async ([name, path]) => {
            const { params } = (await node.rest(path)) as { readonly params: Record<string, unknown> }
            return { name, params }
          }),
        ),
      })),
  )
}
