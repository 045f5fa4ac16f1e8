import type { Api } from '../api/api.ts'
import { hasFaucet } from '../faucet/payGrants.ts'
import { status } from './shapes.ts'

/** Which chain this is, and how far the index has come. */
export function addStatus(
  app: Api['app'],
  {
    queries,
    config,
    nodeHeight,
    publicRpcUrl,
    faucetAddress,
  }: Pick<Api, 'queries' | 'config' | 'nodeHeight' | 'publicRpcUrl' | 'faucetAddress'>,
): void {
  app.get(
    '/status',
    { schema: { tags: ['network'], summary: 'The chain and its index', response: { 200: status } } },
    async () => {
      const own = await queries.selectFrom('ingest').selectAll().executeTakeFirst()
      return {
        chainId: own?.chain_id ?? null,
        evmChainId: own?.evm_chain_id ?? null,
        firstHeight: own?.first_height ?? null,
        height: own?.height ?? null,
        nodeHeight: nodeHeight(),
        chainName: config.chainName,
        coinSymbol: config.coinSymbol,
        hasFaucet: faucetAddress !== undefined && own !== undefined && hasFaucet(own.evm_chain_id),
        publicRpcUrl: publicRpcUrl() ?? null,
      }
    },
  )
}
