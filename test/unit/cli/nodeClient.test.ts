import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectNode, createNodeClient } from '../../../src/cli/nodeClient.ts'

let server: Server
let url: string

beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.url === '/gone') request.socket.destroy()
    else if (request.url === '/rpc') response.end('{"error":{"code":-32603,"message":"Internal error","data":"why"}}')
    else if (request.url === '/text') response.writeHead(502).end('<html>')
    else if (request.url === '/metrics') response.end('# HELP')
    else response.writeHead(404).end('{"code":5,"message":"no such account","details":[]}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => server.close())

describe('a node that does not give what is asked for', () => {
  it('has refused when it says why', async () => {
    const refused = { name: 'NodeRefused', status: 404, message: 'no such account' }
    await expect(createNodeClient(url).get('/cosmos/auth/v1beta1/accounts/x')).rejects.toMatchObject(refused)
    const failed = { name: 'NodeRefused', message: 'Internal error: why' }
    await expect(createNodeClient(url).comet('status', {})).rejects.toMatchObject(failed)
  })

  it('has refused when something between answers instead', async () => {
    const refused = { name: 'NodeRefused', status: 502, message: `${url}/text answered 502` }
    await expect(createNodeClient(`${url}/`).get('/text')).rejects.toMatchObject(refused)
  })

  it('is unreachable when there is no answer', async () => {
    const unreachable = { name: 'NodeUnreachable', status: undefined }
    await expect(createNodeClient(url).get('/gone')).rejects.toMatchObject(unreachable)
  })

  it('may be another server', async () => {
    const refused = {
      name: 'NodeRefused',
      message: `${url}/metrics answered 200: check that ${url} is the RPC port of a node`,
    }
    await expect(createNodeClient(url).get('/metrics')).rejects.toMatchObject(refused)
  })

  it('is a mistake when it has no address', () => {
    const mistake = {
      name: 'ConfigError',
      message: expect.stringContaining("localhost:8080 is not a node's address"),
    }
    expect(() => createNodeClient('localhost:8080')).toThrow(expect.objectContaining(mistake))
    expect(connectNode({}, { environment: { COIND_NODE: '' } }).url).toBe('http://localhost:8080')
    expect(connectNode({}, { environment: { COIND_NODE: url } }).url).toBe(url)
  })
})
