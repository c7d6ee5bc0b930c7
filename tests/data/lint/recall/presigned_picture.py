# PC701: presigned picture
POLICY = "Refunds are allowed within thirty days of delivery. " * 200

import boto3
from openai import OpenAI

s3 = boto3.client("s3")

def describe(client: OpenAI, key: str, question: str):
    url = s3.generate_presigned_url("get_object", Params={"Bucket": "b", "Key": key}, ExpiresIn=600)  # here
    content = [
        {"type": "text", "text": question},
        {"type": "image_url", "image_url": {"url": url, "detail": "low"}},
    ]
    return client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": content}])
