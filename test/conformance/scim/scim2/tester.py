"""scim2-tester's checks of a server, one line each."""

import collections
import os

import httpx2
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import check_server

http = httpx2.Client(
    base_url=os.environ["SCIM_URL"],
    headers={"Authorization": "Bearer " + os.environ["API_KEY"]},
    timeout=30,
)
client = SyncSCIMClient(http)
client.discover()
seen = collections.Counter()
for result in check_server(client):
    name = " ".join(text for text in (result.title, result.resource_type) if text)
    seen[name] += 1
    check = name if seen[name] == 1 else f"{name} {seen[name]}"
    why = (result.reason or "").replace("\n", " ")
    # What is passed over was not tried: of what this server has, nothing is.
    passed = result.status.name == "SUCCESS"
    print(f"ok {check}" if passed else f"not ok {check}: {result.status.name} {why}")
