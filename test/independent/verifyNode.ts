import {
  type CommitAnswer,
  type LightBlock,
  type ValidatorsAnswer,
  verifyAdjacent,
  verifyBlock,
} from './lightVerifier.ts'

/**
 * Verifies heights `from` to `to` of a node by what it serves: each commit with the validators before it has announced, and that
 * app_hash of H + 1 is the Ethereum hash of H.
 * @param url of the node's RPC port
 * @throws Error that names the height and what is wrong
 */
export async function verifyNode(url: string, from: number, to: number): Promise<void> {
  let before: LightBlock | undefined
  for (let height = from; height <= to; height++) {
    const block = {
      commit: await ask<CommitAnswer>(url, `commit?height=${height}`),
      validators: await ask<ValidatorsAnswer>(url, `validators?height=${height}&per_page=100`),
    }
    try {
      if (before === undefined) verifyBlock(block)
      else verifyAdjacent(before, block)
    } catch (error) {
      throw new Error(`block ${height} of ${url}: ${(error as Error).message}`)
    }
    const appHash = block.commit.signed_header.header.app_hash
    const hash = await ethereumHash(url, height - 1)
    if (hash.toUpperCase() !== `0X${appHash}`) throw new Error(`app_hash of ${height} is ${appHash}, not ${hash}`)
    before = block
  }
}

async function ask<T>(url: string, path: string): Promise<T> {
  const answer = (await (await fetch(new URL(`rpc/${path}`, url))).json()) as { result?: T; error?: unknown }
  if (answer.result === undefined) throw new Error(`${path}: ${JSON.stringify(answer.error)}`)
  return answer.result
}

async function ethereumHash(url: string, height: number): Promise<string> {
  const request = { jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: [`0x${height.toString(16)}`, false] }
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(request) })
  return ((await response.json()) as { result: { hash: string } }).result.hash
}
