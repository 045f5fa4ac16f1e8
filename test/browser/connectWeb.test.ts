import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { create, toBinary } from '@bufbuild/protobuf'
import { base64Encode } from '@bufbuild/protobuf/wire'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { Code } from '@connectrpc/connect'
import type { Browser } from 'playwright-core'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DEVNET_ACCOUNTS } from '../../src/cli/devnetAccounts.ts'
import { toBech32 } from '../../src/primitives/address.ts'
import { typesOfAny } from '../../src/rpc/cosmos/anyTypes.ts'
import { describeMethods } from '../../src/rpc/cosmos/grpc/descriptors.ts'
import { QUERIES } from '../../src/rpc/cosmos/queries.ts'
import { browserPath, launchBrowser } from '../e2e/explorer/browser.ts'
import { startQuickDevnet } from '../e2e/quickDevnet.ts'
import type { TestNode } from '../e2e/startNode.ts'
import type { ask, TransportName } from './connectPage.ts'

/* Pages of any origin ask the node by gRPC-Web and by the Connect protocol. */

const path = browserPath()
let node: TestNode
let pages: Server
let browser: Browser

beforeAll(async () => {
  if (path === undefined) return
  node = await startQuickDevnet()
  const script = await bundledPage()
  pages = createServer((request, response) => {
    const isScript = request.url === '/page.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? script : '<!doctype html><script src="/page.js"></script>')
  })
  pages.listen(0, '127.0.0.1')
  await once(pages, 'listening')
  browser = await launchBrowser(path)
})
afterAll(async () => {
  if (path === undefined) return
  await browser.close()
  pages.close()
  await node.stop()
})

async function bundledPage(): Promise<string> {
  const bundle = await rolldown({ input: new URL('connectPage.ts', import.meta.url).pathname, platform: 'browser' })
  const { output } = await bundle.generate({ format: 'iife', name: 'page' })
  return output[0].code
}

function descriptors(): string {
  const { files } = describeMethods(QUERIES.values(), typesOfAny())
  const set = create(FileDescriptorSetSchema, { file: [...files].map(({ proto }) => proto) })
  return base64Encode(toBinary(FileDescriptorSetSchema, set))
}

describe.skipIf(path === undefined)('connect-web in a browser', () => {
  it.each<TransportName>(['gRPC-Web', 'Connect', 'Connect with JSON'])('asks by %s', async (name) => {
    const page = await browser.newPage()
    await page.goto(`http://127.0.0.1:${(pages.address() as AddressInfo).port}/`)
    const answer = await page.evaluate(
      ([...args]) => (globalThis as unknown as { ask: typeof ask }).ask(...(args as Parameters<typeof ask>)),
      [name, node.url, descriptors(), toBech32(DEVNET_ACCOUNTS[3]!.address)],
    )
    expect(answer).toEqual({
      amount: expect.stringMatching(/^[1-9]\d+$/),
      height: expect.stringMatching(/^[1-9]\d*$/),
      errorCode: Code.InvalidArgument,
    })
    await page.close()
  })
})
