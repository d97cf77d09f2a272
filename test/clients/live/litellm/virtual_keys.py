"""A virtual key without a database: the proxy takes its alias for the caller."""

import os

from litellm.proxy._types import UserAPIKeyAuth


async def user_api_key_auth(request, api_key):
    return UserAPIKeyAuth(api_key=api_key, key_alias=os.environ["OTEL_SERVICE_NAME"])
