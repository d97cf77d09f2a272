"""What a program with scim2-client does: it reads what the server has, and keeps users and groups."""

import os

import httpx2
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_models import PatchOp, PatchOperation, ResponseParameters, SCIMException, SearchRequest

http = httpx2.Client(
    base_url=os.environ["SCIM_URL"],
    headers={"Authorization": "Bearer " + os.environ["API_KEY"]},
    timeout=30,
)
scim = SyncSCIMClient(http)


def check(name, work):
    try:
        value = work()
        print(f"ok {name}")
        return value
    except Exception as fault:
        print(f"not ok {name}: {type(fault).__name__} {fault}".replace("\n", " "))
        raise SystemExit(0) from fault


def refused(work):
    try:
        work()
    except SCIMException as error:
        assert error.status == 409 and error.scim_type == "uniqueness", error
        return
    raise AssertionError("not refused")


def expect(condition):
    assert condition


check("discover", scim.discover)
User, Group = scim.get_resource_model("User"), scim.get_resource_model("Group")
named = "Client.Program@example.com"
user = check("create a user", lambda: scim.create(User(user_name=named, external_id="p-1")))
check("create it again", lambda: refused(lambda: scim.create(User(user_name=named.lower()))))
check(
    "find it by a filter",
    lambda: expect(
        scim.query(User, SearchRequest(filter=f'userName eq "{named.lower()}"')).resources[0].id
        == user.id
    ),
)
check(
    "search at the root",
    lambda: expect(scim.search(SearchRequest(filter='externalId eq "p-1"')).total_results == 1),
)
check(
    "project",
    lambda: expect(
        scim.query(User, user.id, ResponseParameters(attributes=["userName"])).active is None
    ),
)
group = check("create a group", lambda: scim.create(Group(display_name="Program")))
member = Group.Members(value=user.id)
add = PatchOp[Group](operations=[PatchOperation(op="add", path="members", value=[member])])
check("add a member", lambda: scim.modify(Group, group.id, add))
check("read it", lambda: expect(scim.query(Group, group.id).members[0].value == user.id))
user.active = False
user.user_name = "renamed.program@example.com"
user.groups = None
check("replace the user", lambda: expect(scim.replace(user).active is False))
check("delete both", lambda: [scim.delete(Group, group.id), scim.delete(User, user.id)])
