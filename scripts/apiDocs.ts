import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../explorer/database/open.ts'
import { openServices } from '../explorer/database/services.ts'
import { createServer } from '../explorer/server/createServer.ts'
import { NAMESPACES } from '../src/config/namespaces.ts'
import { VERSION } from '../src/config/version.ts'
import { type RpcContext, resultText } from '../src/rpc/jsonrpc/method.ts'
import { createSocketMethods } from '../src/rpc/jsonrpc/methodTable.ts'
import { methodsOf } from '../src/rpc/jsonrpc/namespaces.ts'
import { textOf } from '../src/rpc/jsonrpc/resultText.ts'

/**
 * Returns the text of docs/openrpc.json: the answer of `rpc_discover` where all namespaces are
 * served, with only the version.
 */
export async function openRpcText(): Promise<string> {
  // Only calls of these methods use the parts of a node, and only rpc_discover is called.
  const methods = methodsOf(createSocketMethods({} as never), new Set(NAMESPACES))
  const context = { clientVersion: VERSION } as RpcContext
  return indented(textOf(resultText(await methods.get('rpc_discover')!.run(context, []))))
}

/** Returns the text of docs/openapi.json: the explorer's OpenAPI document, from a server over an empty index. */
export async function openApiText(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'coind-openapi-'))
  const place = join(directory, 'index.sqlite')
  const database = await openDatabase(place)
  const services = await openServices(place)
  const app = await createServer({
    queries: database.queries,
    services,
    node: { ethereum: refuse, comet: refuse, rest: refuse },
    logger: { error: () => undefined, warn: () => undefined },
    verifier: { compilers: { versions: [], find: () => undefined }, submit: refuse, job: refuse, close: refuse },
    config: { chainName: 'coind', coinSymbol: 'COIN', publicRpcUrl: 'http://localhost:8080/', trustedProxies: [] },
    faucetAddress: undefined,
    listeners: new Set(),
  })
  try {
    const { body } = await app.inject('/api/v1/openapi.json')
    return indented(body)
  } finally {
    await app.close()
    await services.destroy()
    await database.close()
    rmSync(directory, { recursive: true })
  }
}

async function refuse(): Promise<never> {
  throw new Error('the document needs no node')
}

function indented(json: string): string {
  return `${JSON.stringify(JSON.parse(json), null, 2)}\n`
}

if (import.meta.main) {
  writeFileSync(new URL('../docs/openrpc.json', import.meta.url), await openRpcText())
  writeFileSync(new URL('../docs/openapi.json', import.meta.url), await openApiText())
}
